//! Options that do the same in many programs: they run something, change files in place or lead the network elsewhere.
//! For programs without a list of their own.

use super::inner_commands::caution;
use ostler_policy::Caution;
use ostler_policy::script::Word;

/// Without dashes. With one dash or two, and with a value behind `=`.
const NAMES: &[&str] = &[
    "addon",
    "agentlib",
    "agentpath",
    "askpass",
    "autocorrect",
    "autocorrect-all",
    "autoload-file",
    "bootstrap",
    "browser",
    "checkpoint-action",
    "cmd",
    "command",
    "compress-program",
    "default-index",
    "docker-host",
    "editor",
    "endpoint-url",
    "engine",
    "eval",
    "evaluate",
    "exec",
    "exec-path",
    "execute",
    "extra-index-url",
    "find-links",
    "fix",
    "fix-dry-run",
    "fix-errors",
    "fplugin",
    "globalSetup",
    "https-proxy",
    "http-proxy",
    "in-place",
    "index-url",
    "inplace",
    "init-command",
    "init-file",
    "init-hook",
    "init-script",
    "init_hook",
    "javaagent",
    "kubeconfig",
    "load",
    "load-extension",
    "load-plugins",
    "loader",
    "lua-filter",
    "node-options",
    "pager",
    "pdf-engine",
    "plugin",
    "plugin-dir",
    "plugin-path",
    "plugins",
    "post-renderer",
    "preload",
    "preprocessor",
    "preproxy",
    "preview",
    "processor",
    "processorpath",
    "provider",
    "provider-path",
    "proxy",
    "python-executable",
    "rcfile",
    "registry",
    "require",
    "resolver",
    "rsh",
    "rsh-command",
    "rsync-path",
    "rulesdir",
    "run-under",
    "run_under",
    "script-shell",
    "setupFiles",
    "shell",
    "shell-escape",
    "sh-exec",
    "lua-exec",
    "socks4",
    "socks4a",
    "socks5",
    "socks5-hostname",
    "startup-file",
    "test-runner",
    "testRunner",
    "to-command",
    "toolexec",
    "unix-socket",
    "use-askpass",
    "use-compress-program",
    "vettool",
    "wrapper",
    "rmt-command",
    "filter-script",
];

/// `words` begin with the program.
pub(super) fn cautions(words: &[Word]) -> Vec<Caution> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.literal() else { continue };
        if text == "--" {
            break;
        }
        let Some(option) = text.strip_prefix('-') else { continue };
        let option = option.strip_prefix('-').unwrap_or(option);
        let option = option.split('=').next().unwrap_or(option);
        if NAMES.contains(&option) {
            found.push(caution(at, format!("an allow rule covers {text} only if it names it")));
        }
    }
    found
}
