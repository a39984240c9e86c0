//! Variables that no project's file may set, trusted or not: they would lead requests, keys or programs elsewhere.

/// Whole names, in capitals.
const NAMES: &[&str] = &[
    "AWS_ENDPOINT_URL",
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "CLAUDE_CONFIG_DIR",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LOGNAME",
    "MANPAGER",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "REQUESTS_CA_BUNDLE",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SUDO_ASKPASS",
    "TMPDIR",
    "USER",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Beginnings, in capitals.
const FAMILIES: &[&str] = &[
    "ANTHROPIC_",
    "BASH_FUNC_",
    "CARGO_TARGET_",
    "CLAUDE_CODE_",
    "DYLD_",
    "GIT_",
    "LD_",
    "NPM_CONFIG_",
    "OSTLER_",
    "XDG_",
];

/// Harmless members of these families.
const SPARED: &[&str] = &[
    "CARGO_TARGET_DIR",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_TERMINAL_PROMPT",
];

/// A project's file must not set it.
pub(crate) fn is_forbidden(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let family = FAMILIES.iter().any(|family| name.starts_with(family));
    let listed = NAMES.contains(&name.as_str()) || name.ends_with("_PROXY") || family;
    listed && !SPARED.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::is_forbidden;

    #[test]
    fn what_leads_elsewhere_is_forbidden_in_any_case_of_letters() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "anthropic_base_url",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BEDROCK_BASE_URL",
            "HTTPS_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "NO_PROXY",
            "OSTLER_HOME",
            "CLAUDE_CONFIG_DIR",
            "HOME",
            "PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_GLOBAL",
            "GIT_SSH_COMMAND",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "BASH_FUNC_ls%%",
        ] {
            assert!(is_forbidden(name), "{name}");
        }
        for name in [
            "RUST_LOG",
            "NODE_ENV",
            "CARGO_TARGET_DIR",
            "GIT_AUTHOR_NAME",
            "MY_PATH",
            "ENVIRONMENT",
        ] {
            assert!(!is_forbidden(name), "{name}");
        }
    }
}
