//! Subcommands of git that change something or reach a remote. Not plain: helpers on both sides, editors, signatures,
//! files beside the repository, and what throws work away or rewrites a remote.

use super::{LIST, OptionList};

/// A transport helper, a remote branch that is forced or deleted, or a subcommand that runs something.
fn is_a_helper(text: &str) -> bool {
    let value = text.split_once('=').map_or(text, |(_, value)| value);
    text.contains("::") || text.starts_with("ext:") || value.starts_with("ext:")
}

fn of_push(text: &str) -> bool {
    is_a_helper(text) || text.starts_with(['+', ':'])
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["git add", "git stage"],
        plain: "-AunvfN --all --update --dry-run --verbose --force --intent-to-add --ignore-errors --renormalize --chmod= \
            --no-all --ignore-removal --sparse",
        ..LIST
    },
    OptionList {
        commands: &["git commit"],
        plain: "-aqvsnzoi -m: -F: -C: --all --message= --file= --amend --no-edit --quiet --verbose --signoff --no-verify \
            --allow-empty --allow-empty-message --author= --date= --fixup= --squash= --reuse-message= --dry-run --short \
            --porcelain --only --include --no-post-rewrite --reset-author --cleanup= --trailer= --no-gpg-sign --status \
            --no-status",
        ..LIST
    },
    OptionList {
        commands: &["git push"],
        plain: "-uqvn --set-upstream --quiet --verbose --dry-run --tags --follow-tags --all --branches --porcelain --progress \
            --no-progress --no-verify --atomic",
        refused: of_push,
        ..LIST
    },
    OptionList {
        commands: &["git fetch", "git pull"],
        plain: "-apqvtnfk46r -j: -X: --all --prune --prune-tags --tags --no-tags --quiet --verbose --depth= --deepen= \
            --unshallow --shallow-since= --dry-run --force --multiple --jobs= --no-recurse-submodules --progress \
            --no-progress --update-shallow --atomic --refetch --set-upstream --append --ipv4 --ipv6 --rebase? --no-rebase \
            --ff --ff-only --no-ff --autostash --no-autostash --stat --no-stat --squash --commit --no-commit --no-edit \
            --allow-unrelated-histories --strategy-option=",
        refused: is_a_helper,
        ..LIST
    },
    OptionList {
        commands: &["git branch"],
        plain: "-dDmMcCfqvarlti -u: --delete --move --copy --force --quiet --verbose --all --remotes --list --track? --no-track \
            --set-upstream-to= --unset-upstream --create-reflog --ignore-case --show-current --contains= --no-contains= \
            --merged= --no-merged= --points-at= --sort= --column? --no-column --color? --no-color --abbrev? --no-abbrev",
        ..LIST
    },
    OptionList {
        // Not signed ones: the signer is another program.
        commands: &["git tag"],
        plain: "-adfl -m: -n? --annotate --delete --force --list --message= --create-reflog --contains= --no-contains= --merged= \
            --no-merged= --points-at= --sort= --column? --no-column --color? --ignore-case",
        ..LIST
    },
    OptionList {
        commands: &["git ls-remote"],
        plain: "-htq --heads --branches --tags --refs --quiet --exit-code --get-url --symref --sort=-version:refname",
        refused: is_a_helper,
        ..LIST
    },
    OptionList {
        commands: &["git clone"],
        plain: "-qvn -b: -o: -j: --branch= --depth= --single-branch --no-single-branch --no-checkout --quiet --verbose \
            --progress --no-tags --filter= --bare --mirror --origin= --jobs= --shallow-since= --sparse --no-hardlinks",
        refused: is_a_helper,
        ..LIST
    },
    OptionList {
        commands: &["git merge"],
        plain: "-nqv -m: -X: -F: --ff --no-ff --ff-only --squash --no-squash --commit --no-commit --no-edit --abort --continue \
            --quit --stat --no-stat --log? --allow-unrelated-histories --strategy-option= --autostash --quiet --verbose \
            --signoff --no-verify --message= --strategy=ours --strategy=ort --strategy=recursive --strategy=resolve",
        ..LIST
    },
    OptionList {
        commands: &["git rebase"],
        plain: "-qvnm -X: --continue --abort --skip --quit --onto= --autostash --no-autostash --autosquash --no-autosquash \
            --quiet --verbose --stat --no-stat --keep-base --root --update-refs --rebase-merges --merge --fork-point \
            --no-fork-point --reapply-cherry-picks --empty= --no-verify --signoff --strategy-option= --whitespace= \
            --no-keep-empty --apply --show-current-patch --committer-date-is-author-date",
        ..LIST
    },
    OptionList {
        commands: &["git checkout", "git switch"],
        plain: "-qdtml -b: -B: -c: -C: --quiet --detach --track? --no-track --merge --ours --theirs --orphan= --create= \
            --force-create= --guess --no-guess --progress --no-progress --conflict=",
        ..LIST
    },
    OptionList {
        commands: &["git restore"],
        plain: "-qSW -s: --staged --worktree --source= --quiet --ours --theirs --merge --conflict= --progress --no-progress \
            --ignore-unmerged --overlay --no-overlay",
        ..LIST
    },
    OptionList {
        commands: &["git reset"],
        plain: "-qN --soft --mixed --keep --quiet --no-refresh --intent-to-add",
        ..LIST
    },
    OptionList {
        commands: &["git clean"],
        plain: "-fdxXnq -e: --dry-run --force --quiet --exclude=",
        ..LIST
    },
    OptionList {
        commands: &["git stash"],
        plain: "-ukqaS -m: --include-untracked --all --keep-index --no-keep-index --quiet --message= --staged --index",
        ..LIST
    },
    OptionList {
        commands: &["git cherry-pick", "git revert"],
        plain: "-xns -m: -X: --no-commit --continue --abort --skip --quit --no-edit --mainline= --signoff --allow-empty \
            --keep-redundant-commits --ff --strategy-option= --empty=",
        ..LIST
    },
    OptionList {
        commands: &["git rm", "git mv"],
        plain: "-rfqnkv --cached --force --quiet --dry-run --ignore-unmatch --sparse --verbose",
        ..LIST
    },
    OptionList {
        commands: &["git worktree"],
        plain: "-fdv -b: -B: --detach --checkout --no-checkout --lock --reason= --force --track --no-track --porcelain \
            --verbose --expire= --dry-run",
        ..LIST
    },
    OptionList {
        commands: &["git remote"],
        plain: "-vfn -t: -m: --verbose --tags --no-tags --prune --dry-run --push --all --add --delete",
        refused: is_a_helper,
        ..LIST
    },
    OptionList {
        commands: &["git submodule"],
        plain: "-q --quiet --cached --recursive --summary-limit=",
        refused: |text| {
            is_a_helper(text) || matches!(text, "foreach" | "update" | "add" | "set-url")
        },
        ..LIST
    },
    OptionList {
        commands: &["git bisect"],
        plain: "--term-old= --term-new= --term-good= --term-bad= --no-checkout --first-parent",
        refused: |text| matches!(text, "run" | "view" | "visualize"),
        ..LIST
    },
    OptionList {
        commands: &["git format-patch"],
        plain: "-nNksq0123456789 -v: --stdout --cover-letter --numbered --no-numbered --start-number= --subject-prefix= --signoff \
            --root --no-stat --stat --base= --reroll-count= --suffix= --in-reply-to= --to= --cc= --zero-commit --quiet",
        ..LIST
    },
    OptionList {
        commands: &[
            "git diff-index",
            "git diff-files",
            "git diff-tree",
            "git whatchanged",
            "git range-diff",
            "git show-branch",
            "git stash show",
            "git stash list",
        ],
        plain: "-pruMCRwbzstmcn0123456789 -U: -n: -S: -G: --cached --name-only --name-status --stat? --numstat --shortstat --quiet \
            --exit-code --raw --patch --no-patch --no-color --color? --abbrev? --cc --root --ignore-submodules? --no-ext-diff \
            --no-textconv --diff-filter= --no-commit-id --oneline --creation-factor= --no-dual-color --include-untracked \
            --only-untracked --all --merge-base --independent --unified= --max-count= --since= --author= --format=%h \
            --format=%H --format=%s --pretty=oneline",
        ..LIST
    },
    OptionList {
        commands: &["git archive"],
        plain: "-vl0123456789 --format=tar --format=zip --format=tgz --format=tar.gz --prefix= --verbose --list",
        ..LIST
    },
    OptionList {
        commands: &["git apply", "git am"],
        plain: "-Rv3qsk -p: -C: --stat --numstat --summary --check --index --cached --3way --reverse --unidiff-zero --whitespace= \
            --ignore-whitespace --ignore-space-change --include= --exclude= --verbose --quiet --recount --reject --no-add \
            --binary --intent-to-add --allow-empty --keep-cr --continue --abort --skip --quit --signoff --keep --no-verify",
        ..LIST
    },
    OptionList {
        commands: &["git init"],
        plain: "-q -b: --quiet --bare --initial-branch= --object-format=",
        ..LIST
    },
    OptionList {
        commands: &["git gc", "git prune", "git repack", "git fsck"],
        plain: "-qadnv --quiet --auto --aggressive --prune= --full --strict --verbose --dry-run --no-progress --progress",
        ..LIST
    },
    // All the others.
    OptionList {
        commands: &["git"],
        plain: "-qv -m: --quiet --verbose --all --list --help",
        ..LIST
    },
];
