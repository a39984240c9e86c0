//! Which variables a command may see: an allow-list, and a deny-list above it.
//!
//! A command runs what a model asked for. It gets what tools need to find their parts, and
//! nothing that opens a door: no credentials, no sockets of the user's session, nothing that makes
//! a shell or a loader run other code first.

use std::ffi::{OsStr, OsString};

/// Variables that common tools need and that tell nothing secret.
const ALLOWED: &str = "
    PATH HOME USER LOGNAME SHELL LANG TERM COLORTERM NO_COLOR TZ TMPDIR TEMP TMP
    HOSTNAME CI XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME CARGO_HOME
    CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_BACKTRACE RUSTFLAGS GOPATH GOROOT
    GOBIN GOCACHE GOMODCACHE GOFLAGS GOTOOLCHAIN JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME
    GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT KOTLIN_HOME SDKMAN_DIR
    NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_DIR NODE_PATH NODE_ENV
    npm_config_cache PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH
    PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PIP_CACHE_DIR UV_CACHE_DIR POETRY_HOME
    PIPX_HOME RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH RUBYLIB COMPOSER_HOME DOTNET_ROOT
    NUGET_PACKAGES GHCUP_INSTALL_BASE_PREFIX STACK_ROOT OPAMROOT OPAM_SWITCH_PREFIX MIX_HOME
    HEX_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX NIX_PATH NIX_PROFILES
    NIX_SSL_CERT_FILE CC CXX AR LD CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_PREFIX_PATH
    PKG_CONFIG_PATH CCACHE_DIR SCCACHE_DIR CUDA_HOME CUDA_PATH ROCM_PATH SSL_CERT_FILE
    SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS HTTP_PROXY
    HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
    SOURCE_DATE_EPOCH DEBIAN_FRONTEND GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
    GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT
    GIT_CEILING_DIRECTORIES GIT_OPTIONAL_LOCKS GIT_DISCOVERY_ACROSS_FILESYSTEM";

/// Refused even when the caller names them.
const NEVER: &str = "
    SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS SUDO_ASKPASS GPG_AGENT_INFO XDG_RUNTIME_DIR TMUX
    TMUX_PANE STY DISPLAY WAYLAND_DISPLAY WAYLAND_SOCKET XAUTHORITY KRB5CCNAME BASH_ENV ENV
    ZDOTDIR PROMPT_COMMAND SHELLOPTS BASHOPTS BASH_XTRACEFD BASH_LOADABLES_PATH PS0 PS1 PS2
    PS4 IFS CDPATH GLOBIGNORE EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE MANPAGER
    SYSTEMD_EDITOR PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5DB RUBYOPT NODE_OPTIONS
    JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
    GCONV_PATH";

const NEVER_PREFIXES: &str = "
    LD_ DYLD_ BASH_FUNC_ DBUS_ GIT_ AWS_ AZURE_ GCP_ GOOGLE_ ANTHROPIC_ OPENAI_ CLAUDE_
    GEMINI_ OSTLER_ DOCKER_ KUBE VAULT_ SYSTEMD_ LISTEN_ NOTIFY_";

/// Found anywhere in a name, these mean a credential. Compared in upper case.
const CREDENTIAL_PARTS: &str = "
    TOKEN SECRET PASSWORD PASSWD PASSPHRASE PASSCODE CREDENTIAL APIKEY COOKIE SESSION
    CONNECTION_STRING DATABASE_URL REDIS_URL";

/// The same for words between underscores; as mere parts they would hit `AUTHOR` and `PATH`.
const CREDENTIAL_WORDS: &str = "
    AUTH KEY PASS PAT PW DSN JWT OAUTH";

/// Beginnings of values that are credentials whatever their variable is called.
const CREDENTIAL_VALUES: &str = "
    sk- ghp_ gho_ ghs_ ghu_ github_pat_ glpat- xoxb- xoxp- AKIA ASIA eyJ -----BEGIN Bearer
    Basic";

/// The variables a command may see: the allow-list, and the names in `extra`. What looks like a
/// credential and what changes how programs are started is left out even if it is named. A proxy
/// loses its user name and password. Locales are left out but for a plain `LANG`: they change what
/// shells and tools read.
pub fn allowed_environment(
    all: impl Iterator<Item = (OsString, OsString)>,
    extra: &[impl AsRef<OsStr>],
) -> Vec<(OsString, OsString)> {
    let allowed = all.filter(|(name, value)| {
        let named = extra.iter().any(|wanted| wanted.as_ref() == name.as_os_str());
        // A name that is not UTF-8 is nobody's convention.
        let Some(name) = name.to_str() else { return false };
        let allowed = words(ALLOWED).any(|word| word == name);
        (allowed || named)
            && !is_refused(name, allowed)
            && (is_proxy(name) || !is_secret_value(value))
    });
    without_secrets(allowed)
}

/// The variables without the user names and passwords of proxies, and without locales.
pub fn without_secrets(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    all.filter_map(|(name, value)| {
        let text = name.to_str().unwrap_or_default();
        if is_locale(text) && !(text == "LANG" && is_plain_locale(&value)) {
            return None;
        }
        let value = if is_proxy(text) { without_user(&value)? } else { value };
        Some((name, value))
    })
    .collect()
}

/// Names of variables that belong to the providers of models, and to us.
const OF_MODELS: &str = "
    ANTHROPIC_ OPENAI_ GEMINI_ OSTLER_ CLAUDE_ MISTRAL_ DEEPSEEK_ GROQ_ OPENROUTER_ XAI_";

/// Whether a variable holds what opens the door to a model. No program that others wrote gets its value.
pub fn is_model_variable(name: &str) -> bool {
    words(OF_MODELS).any(|prefix| name.to_ascii_uppercase().starts_with(prefix))
}

/// Also those of single tools, such as `npm_config_https_proxy`.
fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().contains("proxy")
}

/// The address of a proxy alone. None if it cannot be told from the credentials.
fn without_user(value: &OsStr) -> Option<OsString> {
    let text = value.to_str()?;
    // A password may hold any character unescaped, and the scheme may be missing: what follows the
    // last `@` is the host.
    let Some((before, host)) = text.rsplit_once('@') else {
        return (!is_secret_value(value)).then(|| value.to_owned());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || ".:-_[]/".contains(c);
    let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    if host.is_empty() || !host.chars().all(plain) || !is_scheme {
        return None;
    }
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    Some(format!("{scheme}{host}").into())
}

fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split_ascii_whitespace()
}

fn is_locale(name: &str) -> bool {
    name == "LANG" || name == "LANGUAGE" || name == "LOCPATH" || name.starts_with("LC_")
}

/// `de_DE.UTF-8@euro`, not a path and nothing longer.
fn is_plain_locale(value: &OsStr) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    value.to_str().is_some_and(|text| {
        text.len() <= 32
            && !text.contains("..")
            && !text.starts_with('.')
            && text.chars().all(plain)
    })
}

fn is_refused(name: &str, allowed: bool) -> bool {
    let valid = !name.is_empty() && !name.contains(['=', '\0']);
    let upper = name.to_ascii_uppercase();
    let injects = words(NEVER).any(|word| word == name)
        || (!allowed && words(NEVER_PREFIXES).any(|prefix| upper.starts_with(prefix)));
    !valid || injects || looks_like_credential(&upper)
}

fn looks_like_credential(upper: &str) -> bool {
    words(CREDENTIAL_PARTS).any(|part| upper.contains(part))
        || words(CREDENTIAL_WORDS).any(|word| upper.split('_').any(|part| part == word))
}

fn is_secret_value(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    // `() {` is how functions used to be smuggled into shells.
    text.contains('\0')
        || text.starts_with("() {")
        || words(CREDENTIAL_VALUES).any(|start| text.starts_with(start))
        || has_password(&text)
}

/// `scheme://user:password@host`, as proxies and data bases have it.
fn has_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(name: &str, value: &str, extra: &[&str]) -> bool {
        let all = [(OsString::from(name), OsString::from(value))];
        !allowed_environment(all.into_iter(), extra).is_empty()
    }

    #[test]
    fn tools_find_their_parts() {
        for name in words(
            "PATH HOME USER LOGNAME SHELL LANG TERM TZ TMPDIR CI
             CARGO_HOME RUSTUP_HOME GOPATH GOROOT JAVA_HOME NVM_DIR PYENV_ROOT VIRTUAL_ENV
             CONDA_PREFIX NODE_PATH PKG_CONFIG_PATH GIT_AUTHOR_NAME https_proxy",
        ) {
            assert!(passes(name, "value", &[]), "{name}");
        }
    }

    #[test]
    fn the_two_lists_do_not_contradict_each_other() {
        for name in words(ALLOWED) {
            assert!(passes(name, "value", &[]), "{name} is allowed and refused");
        }
    }

    #[test]
    fn everything_else_stays_outside() {
        for name in [
            "FOO",
            "MY_SETTING",
            "LC_ALL",
            "LC_CTYPE",
            "LANGUAGE",
            "path",
            "",
            "A=B",
            "EDITOR",
            "PS1",
        ] {
            assert!(!passes(name, "value", &[]), "{name}");
        }
    }

    #[test]
    fn a_named_variable_passes_unless_it_opens_a_door() {
        assert!(passes("MY_SETTING", "value", &["MY_SETTING"]));
        for name in words(
            "DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK XDG_RUNTIME_DIR TMUX DISPLAY WAYLAND_DISPLAY
             BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH PROMPT_COMMAND BASH_FUNC_ls%% GIT_SSH_COMMAND
             GIT_CONFIG_COUNT GIT_EXTERNAL_DIFF AWS_PROFILE ANTHROPIC_BASE_URL GITHUB_TOKEN my_secret
             DB_PASSWORD SERVICE_API_KEY NPM_AUTH_FILE SOME_KEY DATABASE_URL REDIS_URL
             NODE_OPTIONS A=B",
        ) {
            assert!(!passes(name, "value", &[name]), "{name}");
        }
    }

    #[test]
    fn an_allowed_name_does_not_carry_a_secret_value() {
        assert!(passes("HTTPS_PROXY", "http://proxy.example:3128", &[]));
        assert!(!passes("SERVICE_ADDRESS", "http://user:word@host.example", &["SERVICE_ADDRESS"]));
        assert!(!passes("LANG", "ghp_0123456789", &[]));
        assert!(!passes("TERM", "() { :; }; echo x", &[]));
    }

    #[test]
    fn a_proxy_is_passed_on_without_its_credentials() {
        let pass = |name: &str, value: &str| {
            let all = [(OsString::from(name), OsString::from(value))];
            let found = allowed_environment(all.into_iter(), &[name]);
            found.first().map(|(_, value)| value.to_str().unwrap().to_owned())
        };
        for (given, expected) in [
            ("http://proxy.example:3128", Some("http://proxy.example:3128")),
            ("http://user:word@proxy.example:3128", Some("http://proxy.example:3128")),
            ("http://user@proxy.example:3128/", Some("http://proxy.example:3128/")),
            ("user:word@proxy.example:3128", Some("proxy.example:3128")),
            ("socks5h://u:w@[::1]:1080", Some("socks5h://[::1]:1080")),
            // Characters that should have been escaped.
            ("http://user:p@ss@proxy.example", Some("http://proxy.example")),
            ("http://user:p/w?x#y@proxy.example", Some("http://proxy.example")),
            ("http://user:w://x@proxy.example", Some("http://proxy.example")),
            // The host cannot be told from the rest.
            ("http://user:word@", None),
            ("http://user:word@host/p?token=x", None),
            ("us er:word://x@proxy.example", None),
        ] {
            assert_eq!(pass("HTTPS_PROXY", given).as_deref(), expected, "{given}");
            assert_eq!(pass("all_proxy", given).as_deref(), expected, "{given}");
            assert_eq!(pass("npm_config_proxy", given).as_deref(), expected, "{given}");
        }
        assert_eq!(
            pass("NO_PROXY", "localhost,.corp,10.0.0.0/8").as_deref(),
            Some("localhost,.corp,10.0.0.0/8")
        );
    }

    #[test]
    fn locales_stay_outside_but_for_a_plain_language() {
        for (name, value, expected) in [
            ("LANG", "de_DE.UTF-8", true),
            ("LANG", "C.UTF-8", true),
            ("LANG", "ca_ES.UTF-8@valencia", true),
            ("LANG", "/tmp/evil", false),
            ("LANG", "../../x", false),
            ("LANG", "a$(id)", false),
            ("LC_ALL", "C", false),
            ("LC_CTYPE", "zh_TW.Big5", false),
            ("LC_x", "C", false),
            ("LANGUAGE", "de", false),
            ("LOCPATH", "/tmp", false),
        ] {
            assert_eq!(passes(name, value, &[name]), expected, "{name}={value}");
        }
    }

    #[test]
    fn order_and_bytes_are_kept() {
        use std::os::unix::ffi::OsStringExt;
        let raw = OsString::from_vec(vec![b'/', 0xff]);
        let all = [
            ("PATH".into(), raw.clone()),
            ("FOO".into(), "x".into()),
            ("HOME".into(), "/h".into()),
        ];
        let none: [&str; 0] = [];
        assert_eq!(
            allowed_environment(all.into_iter(), &none),
            [("PATH".into(), raw), ("HOME".into(), OsString::from("/h"))]
        );
    }
}
