//! The directories a command may run in: after `cd a; …` the one it was in, if that failed, or the other.

/// Changes of directory that are kept in mind.
const MAX_CHANGES: usize = 16;
/// Directories that a command may be in. Beyond that it is not known.
const MAX_PLACES: usize = 4;

/// One directory, and the stack of `pushd`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FolderPlace {
    /// As in `Step::folder`.
    changes: Vec<String>,
    stack: Vec<Vec<String>>,
}

/// What a command does to the directory of the shell, if it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    To(String),
    /// `pushd DIR`
    Push(String),
    /// `popd`
    Pop,
    Unknown,
}

/// Every directory the shell may be in. None: that is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folders(Option<Vec<FolderPlace>>);

impl Default for Folders {
    fn default() -> Self {
        Folders(Some(vec![FolderPlace::default()]))
    }
}

impl Folders {
    pub(super) const UNKNOWN: Folders = Folders(None);

    /// Each of them alone.
    pub(super) fn each(&self) -> Vec<Folders> {
        match &self.0 {
            None => vec![Folders::UNKNOWN],
            Some(places) => places.iter().map(|place| Folders(Some(vec![place.clone()]))).collect(),
        }
    }

    /// The directory, where there is only one.
    pub(super) fn only(&self) -> Option<&Vec<String>> {
        match self.0.as_deref() {
            Some([place]) => Some(&place.changes),
            _ => None,
        }
    }

    /// Those and these.
    pub(super) fn or(&self, other: &Folders) -> Folders {
        let (Some(these), Some(those)) = (&self.0, &other.0) else { return Folders::UNKNOWN };
        let mut all = these.clone();
        all.extend(those.iter().filter(|place| !these.contains(place)).cloned());
        if all.len() > MAX_PLACES { Folders::UNKNOWN } else { Folders(Some(all)) }
    }

    pub(super) fn moved(&self, to: &Move) -> Folders {
        let moved = |place: &FolderPlace| place.moved(to);
        match self.0.as_ref().and_then(|places| places.iter().map(moved).collect()) {
            Some(places) => Folders(Some(places)).distinct(),
            None => Folders::UNKNOWN,
        }
    }

    fn distinct(self) -> Folders {
        self.each().iter().skip(1).fold(self.each().swap_remove(0), |all, one| all.or(one))
    }
}

impl FolderPlace {
    /// Where it succeeds.
    fn moved(&self, to: &Move) -> Option<FolderPlace> {
        let mut place = self.clone();
        match to {
            Move::To(to) => place.changes.push(to.clone()),
            Move::Push(to) => {
                place.stack.push(self.changes.clone());
                place.changes.push(to.clone());
            }
            // With an empty stack it fails, and nothing changes.
            Move::Pop => place.changes = place.stack.pop().unwrap_or(place.changes),
            Move::Unknown => return None,
        }
        let fine = place.changes.len() <= MAX_CHANGES && place.stack.len() <= MAX_CHANGES;
        fine.then_some(place)
    }
}
