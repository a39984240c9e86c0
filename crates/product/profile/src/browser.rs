//! The program that opens an address on the user's desktop.

use crate::Environment;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Tried in this order after `BROWSER`.
const PROGRAMS: [&str; 5] = ["xdg-open", "wslview", "open", "x-www-browser", "sensible-browser"];

/// What a desktop program needs. Credentials are not among it.
const VARIABLES: &[&str] = &[
    "BROWSER",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "USER",
    "WAYLAND_DISPLAY",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
    "XAUTHORITY",
];
const PREFIXES: [&str; 3] = ["XDG_", "KDE_", "GNOME_"];

/// How to open a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    pub program: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

impl Environment {
    /// None where there is no desktop or no such program.
    pub fn browser(&self) -> Option<Browser> {
        let own = self.text("BROWSER").map(PathBuf::from);
        let desktop = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];
        let has_desktop =
            cfg!(target_os = "macos") || desktop.iter().any(|name| self.text(name).is_some());
        let usual = PROGRAMS.iter().filter(|_| has_desktop).map(PathBuf::from);
        let program = own.into_iter().chain(usual).find_map(|program| self.found(&program))?;
        let is_needed = |name: &OsString| {
            let name = name.to_str().unwrap_or_default();
            VARIABLES.contains(&name) || PREFIXES.iter().any(|start| name.starts_with(start))
        };
        let environment = self.variables().filter(|(name, _)| is_needed(name));
        let environment = environment.map(|(name, value)| (name.clone(), value.clone())).collect();
        Some(Browser { program, environment })
    }

    /// In a directory of `PATH`; relative ones are left out, since they depend on the project.
    fn found(&self, program: &Path) -> Option<PathBuf> {
        if program.is_absolute() {
            return is_program(program).then(|| program.to_owned());
        }
        if program.components().count() != 1 {
            return None;
        }
        let path = self.text("PATH")?;
        let mut places = std::env::split_paths(&path).filter(|place| place.is_absolute());
        places.find_map(|place| Some(place.join(program)).filter(|program| is_program(program)))
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn program(folder: &Path, name: &str) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
        file
    }

    #[test]
    fn a_browser_gets_what_a_desktop_needs_and_no_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let opener = program(folder.path(), "xdg-open");
        let path = format!("relative:{}", folder.path().display());
        let found = environment(&[
            ("PATH", &path),
            ("DISPLAY", ":0"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("ANTHROPIC_API_KEY", "secret"),
            ("LD_PRELOAD", "/x.so"),
        ]);
        let browser = found.browser().unwrap();
        assert_eq!(browser.program, opener);
        let names: Vec<&str> =
            browser.environment.iter().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(names, ["DISPLAY", "PATH", "XDG_RUNTIME_DIR"]);
    }

    #[test]
    fn without_a_desktop_only_a_named_program_opens() {
        let folder = tempfile::tempdir().unwrap();
        program(folder.path(), "xdg-open");
        let own = program(folder.path(), "mine");
        let path = folder.path().display().to_string();
        assert_eq!(environment(&[("PATH", &path)]).browser(), None);
        let named = environment(&[("PATH", &path), ("BROWSER", "mine")]);
        assert_eq!(named.browser().unwrap().program, own);
        for bad in ["./mine", "mine %s", "missing"] {
            assert_eq!(environment(&[("PATH", &path), ("BROWSER", bad)]).browser(), None, "{bad}");
        }
    }
}
