//! Editors, pagers and readers. Not plain: commands on the command line, start-up files, logs.

use super::{LIST, OptionList, Style};

fn is_a_command(text: &str) -> bool {
    text.starts_with('+')
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["vim", "vi", "nvim", "view", "vimdiff", "gvim", "rvim", "rview"],
        plain: "-RnbNdOopZmMyhvg --version --help --clean",
        refused: is_a_command,
        ..LIST
    },
    OptionList {
        commands: &["emacs", "emacsclient"],
        style: Style::OneDash,
        plain: "-nw -Q -q -t -c -n --no-init-file --no-window-system --quick --no-wait --version --help",
        refused: is_a_command,
        ..LIST
    },
    OptionList {
        commands: &["nano", "micro", "hx", "kak", "joe"],
        plain: "-lwvn --view --linenumbers --nowrap --version --help",
        refused: is_a_command,
        ..LIST
    },
    // They take commands from their input.
    OptionList { commands: &["ed", "red", "ex"], plain: "-s", least: usize::MAX, ..LIST },
    OptionList {
        commands: &["bat", "batcat", "delta", "glow"],
        plain: "-npAPu -l: -r: -H: --plain --number --line-range= --language= --color= --style= --paging=never --theme= \
            --no-pager --show-all --wrap= --decorations= --highlight-line= --list-languages --list-themes --version --help",
        refused: |text| text == "cache",
        ..LIST
    },
];
