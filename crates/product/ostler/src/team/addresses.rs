//! Where the mail of a team goes. A project has one board, on which several sessions may have teams.

use ostler_core::ids::SessionId;

/// Digits of the session's id in an address. The last ones: the first ones say when the session began.
const DIGITS: usize = 8;
pub(super) use ostler_core::agent_definition::LEAD;

/// `writer@1f2e3d4c`: the same after every restart of the session.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    team: String,
}

impl Addresses {
    pub(crate) fn of(session: &SessionId) -> Self {
        let digits: Vec<char> = session.as_str().chars().filter(|digit| *digit != '-').collect();
        Addresses { team: digits[digits.len().saturating_sub(DIGITS)..].iter().collect() }
    }

    pub(crate) fn lead(&self) -> String {
        self.of_member(LEAD)
    }

    pub(crate) fn of_member(&self, name: &str) -> String {
        format!("{name}@{}", self.team)
    }

    /// What its own team calls the owner of an address.
    pub(crate) fn name<'a>(&self, address: &'a str) -> &'a str {
        match address.split_once('@') {
            Some((name, team)) if team == self.team => name,
            _ => address,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sessions_of_the_same_minute_have_their_own_addresses() {
        let [one, two] = ["0199-77ab-1111-2222", "0199-77ab-3333-4444"]
            .map(|id| Addresses::of(&SessionId::new(id)));
        assert_eq!((one.lead().as_str(), two.lead().as_str()), ("lead@11112222", "lead@33334444"));
        assert_eq!(one.name("writer@11112222"), "writer");
        assert_eq!(one.name("writer@33334444"), "writer@33334444", "of another team");
        assert_eq!(one.name("user"), "user");
        assert_eq!(Addresses::of(&SessionId::new("s")).lead(), "lead@s");
    }
}
