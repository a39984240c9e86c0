//! Which task board is meant: that of a flag, of the environment, or the project's.

use crate::{Environment, ProfileError};
use ostler::BoardPlace;

const LOCAL_REDIS: &str = "redis://localhost:6379";
const NOT_A_BOARD: &str = "cannot use this address as a task board; name a file (--board PATH) or a Redis server (--board redis://HOST)";

impl Environment {
    /// `named` is what a flag says: whoever names a board means that one.
    ///
    /// # Errors
    /// If the name is an address that is not a Redis server's.
    pub fn board(&self, named: Option<&str>) -> Result<BoardPlace, ProfileError> {
        let Some(name) = named.map(str::to_owned).or_else(|| self.text("OSTLER_BOARD")) else {
            return Ok(BoardPlace::Project);
        };
        let url = match name.as_str() {
            // Other programs use this variable, too: by itself it means nothing.
            "redis" => self.text("REDIS_URL").unwrap_or_else(|| LOCAL_REDIS.to_owned()),
            _ => name,
        };
        match url.split_once("://") {
            Some(("redis" | "rediss", _)) => Ok(BoardPlace::Server { url, falls_back: false }),
            // It may contain a password, so it is not repeated.
            Some(_) => Err(ProfileError::Config(NOT_A_BOARD.to_owned())),
            None => Ok(BoardPlace::File(url.into())),
        }
    }

    /// The board of a session: work on this machine goes on without the server.
    pub(crate) fn session_board(&self) -> Result<BoardPlace, ProfileError> {
        Ok(match self.board(None)? {
            BoardPlace::Server { url, .. } => BoardPlace::Server { url, falls_back: true },
            place => place,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn board(variables: &[(&str, &str)], flag: Option<&str>) -> BoardPlace {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        variables.collect::<Environment>().board(flag).unwrap()
    }

    fn server(url: &str) -> BoardPlace {
        BoardPlace::Server { url: url.to_owned(), falls_back: false }
    }

    /// A place may contain a password, so it is not printed.
    #[track_caller]
    fn same(found: BoardPlace, expected: BoardPlace) {
        assert!(found == expected);
    }

    #[test]
    fn redis_means_the_url_of_the_environment_or_else_this_machine() {
        const URL: (&str, &str) = ("REDIS_URL", "rediss://elsewhere:7");
        let local = || server("redis://localhost:6379");
        same(board(&[], Some("redis")), local());
        same(board(&[("OSTLER_BOARD", "redis")], None), local());
        same(board(&[URL], Some("redis")), server(URL.1));
        same(board(&[URL, ("OSTLER_BOARD", "redis")], None), server(URL.1));
        // The flag counts before the variable, and the variable of other programs means nothing by itself.
        same(board(&[URL, ("OSTLER_BOARD", "mine.db")], Some("redis")), server(URL.1));
        same(board(&[URL], None), BoardPlace::Project);
        same(board(&[URL], Some("mine.db")), BoardPlace::File("mine.db".into()));
    }
}
