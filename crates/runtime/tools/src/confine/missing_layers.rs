//! What is said where a layer of the sandbox is missing.

/// Why a machine does not hold all that is promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Files inside the workspace that make git run programs can be changed; they are put back afterwards. With what is
    /// wrong with it: it is not there, too old, or does not work.
    Bubblewrap(String),
    /// Commands are not held at all.
    Floor,
    /// The workspace is the whole disk.
    Whole,
}

impl Missing {
    pub fn why(&self) -> String {
        match self {
            Missing::Bubblewrap(fault) => format!(
                "{fault}, so git hooks and settings are not protected while the command runs (fix it, or accept it with \
                 --accept-missing-layers)"
            ),
            Missing::Floor => {
                "this system cannot run commands in a sandbox (`ostler doctor` says why; accept it with \
                 --accept-missing-layers)"
                    .into()
            }
            Missing::Whole => {
                "the workspace is the whole disk, which no sandbox can confine (start in a project directory, or accept it \
                 with --accept-missing-layers)"
                    .into()
            }
        }
    }

    /// Without a way to accept it.
    pub fn plainly(&self) -> String {
        match self {
            Missing::Bubblewrap(fault) => fault.clone(),
            Missing::Floor => {
                "this system cannot run commands in a sandbox; `ostler doctor` says why".into()
            }
            Missing::Whole => {
                "the directory is the whole disk, which no sandbox can confine; change to another directory"
                    .into()
            }
        }
    }

    /// The notice of a session in which commands run all the same.
    pub fn announced(&self) -> String {
        format!("sandbox: {}", self.accepted())
    }

    /// What is not enforced while a command runs all the same.
    pub fn accepted(&self) -> String {
        match self {
            Missing::Bubblewrap(fault) => format!(
                "{fault}; git hooks and settings are restored after each command, but not protected while it runs"
            ),
            Missing::Floor => {
                "this system cannot confine commands; they run with your full permissions".into()
            }
            Missing::Whole => {
                "the workspace is the whole disk; commands run with your full permissions".into()
            }
        }
    }
}
