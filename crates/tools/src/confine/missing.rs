//! What is said where a layer of the sandbox is missing.

/// Why a machine does not hold all that is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Files inside the workspace that make git run programs can be changed; they are put back afterwards.
    Bubblewrap,
    /// Commands are not held at all.
    Floor,
    /// The workspace is the whole disk.
    Whole,
}

impl Missing {
    pub fn why(self) -> &'static str {
        match self {
            Missing::Bubblewrap => {
                "bubblewrap is missing, so hooks and settings of git are not protected while it runs (install \
                 bubblewrap, or accept it with --accept-missing-layers)"
            }
            Missing::Floor => {
                "this system cannot hold commands in a sandbox (`ostler doctor` says why; accept it with \
                 --accept-missing-layers)"
            }
            Missing::Whole => {
                "the workspace is the whole disk, which no sandbox can hold (start in a project directory, or accept it \
                 with --accept-missing-layers)"
            }
        }
    }

    /// Without a way to accept it.
    pub fn plainly(self) -> &'static str {
        match self {
            Missing::Bubblewrap => "bubblewrap is missing; install it",
            Missing::Floor => {
                "this system cannot hold commands in a sandbox; `ostler doctor` says why"
            }
            Missing::Whole => {
                "the folder is the whole disk, which no sandbox can hold; change to another folder"
            }
        }
    }

    /// The notice of a session in which commands run all the same.
    pub fn announced(self) -> String {
        format!("sandbox: {}", self.accepted())
    }

    /// What is not enforced while a command runs all the same.
    pub fn accepted(self) -> &'static str {
        match self {
            Missing::Bubblewrap => {
                "bubblewrap is missing; hooks and settings of git are put back after each command, \
                 but are not protected while it runs"
            }
            Missing::Floor => "this system cannot hold commands; they run as you do",
            Missing::Whole => "the workspace is the whole disk; commands run as you do",
        }
    }
}
