//! Passwords in plain words: `the password of the router is freddyk`. Nothing in such a value tells it from any other
//! word, so a word behind the name is a value unless it is known to continue with an ordinary sentence.

use super::values::{bare, is_placeholder, is_quantity};

/// Names that a plain word can be the value of.
const NAMES: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "contraseña",
    "pwd",
    "pw",
    "pin",
    "secret",
    "credential",
    "creds",
    "psk",
    "mdp",
];

/// What stands between the name and the verb begins so: "the password of the router is".
const OF: [&str; 9] = ["of", "for", "on", "at", "in", "von", "für", "des", "der"];

/// How an ordinary sentence continues.
const ORDINARY: &str = "
a about above absent accepted accidentally active added all allowed also always an and any anywhere as asked assigned at
auto automatically available back base64 before being below between bound broken built by cached case-insensitive
case-sensitive changed checked chosen cleared committed compared configured confidential connected copied created
currently decrypted default defined deleted deprecated derived different discarded displayed documented done each
either empty encoded encrypted enforced entered erased even exactly expired exported exposed fetched filled first fixed
for forbidden forgotten free from generated given gone good half handed handled hard-coded hardcoded hashed held here
hidden high how however identical if ignored immutable in incorrect injected inside insecure instead internal
invalid invalidated issued it just kept known last leaked left limited loaded local locked logged long longer lost low
made managed mandatory masked mentioned migrated minimum missing more mounted moved much necessary needed never no none
normalised normalized not nothing now null obsolete obtained off old on once one only optional or our out outdated
overridden overwritten owned part passed per pending persisted picked plain plaintext present printed private probably
prompted protected provided public pulled put random randomly rate-limited read recent recently redacted refused
rejected removed renewed replaced requested required reset restricted retrieved returned reused revoked rotated safe
salted same saved scoped scrubbed see sent separate session-scoped set shared short short-lived shorter shown signed
simply single-use so still stored strong stripped stronger supplied supposed synced taken temporary tested that the
their there this to today too transmitted trimmed true typed unchanged under unique unknown unset unused updated up
used user-specific usually valid validated verified via visible weak what when where which why wired with within
without wiped written wrong yesterday yet your
nicht nie im aus erforderlich falsch gespeichert verschlüsselt leer geheim";

/// What is called after a password: `the user and password fields`.
const THINGS: &str = "
auth authentication based box boxes change changes check checks combination dialog entry field fields file files flow
form forms generator hash hashes hashing history input inputs length login logins manager managers mask page pages
pair pairs policies policy prompt prompts protection recovery reset resets rotation rule rules screen screens store
storage strength validation";

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

pub fn is_name(name: &str) -> bool {
    let lower = name.to_lowercase().replace('-', "_");
    let last = lower.rsplit('_').next().unwrap_or_default();
    NAMES.contains(&last) || last.strip_suffix('s').is_some_and(|one| NAMES.contains(&one))
}

/// A word that no ordinary sentence has behind "the password is".
pub fn is_value(word: &str) -> bool {
    let body = bare(word).trim_end_matches(['.', '!', '?', ',', ';', ':']);
    let lower = body.to_lowercase();
    // `longer-lived`, but not `old-horse-shoe`.
    let first = lower.split_once(['-', '/']).filter(|(_, more)| !more.contains(['-', '/']));
    let first = first.map_or(lower.as_str(), |(first, _)| first);
    let letters = body.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 3
        && !is_in(ORDINARY, &lower)
        && !is_in(ORDINARY, first)
        && !is_placeholder(body)
        && !is_quantity(body)
}

/// The verb is the one of the name, not of what is called after it: `the password hash is …`.
pub fn is_of_the_name(between: &[&str]) -> bool {
    between.first().is_none_or(|first| OF.contains(&first.to_lowercase().as_str()))
}

/// `set the password to …`: the words in front of the name.
pub fn is_set(before: &str) -> bool {
    let near = before.rsplit(|c: char| c.is_whitespace()).filter(|word| !word.is_empty()).take(4);
    let sets = ["set", "change", "changed", "reset", "update", "updated", "make"];
    near.map(str::to_lowercase).any(|word| sets.contains(&word.as_str()))
}

/// `log in with user bob and password bobbybrown`: in front of the name somebody logs in, and behind the word nothing
/// follows.
pub fn is_handed_over(before: &str, words: &[&str]) -> bool {
    let lower = before.to_lowercase();
    let last = lower.split_whitespace().next_back().unwrap_or_default();
    let joined = last.ends_with(',') || ["and", "with", "using", "/", "&", "+"].contains(&last);
    let logs_in = [
        "user",
        "login",
        "log in",
        "logs in",
        "logging in",
        "sign in",
        "ssh",
        "connect",
        "account",
    ]
    .iter()
    .any(|word| lower.contains(word));
    let Some(word) = words.first() else { return false };
    let ends = words.len() == 1 || word.ends_with(['.', ',', ';', '!']);
    let body = bare(word).to_lowercase();
    joined && logs_in && ends && is_value(word) && !is_in(THINGS, &body)
}

/// `Basic auth is bob:winterwonder`
pub fn is_pair(before: &str, word: &str) -> bool {
    let given = ["is", "are", "with", "as", "use", "using"]
        .contains(&before.to_lowercase().as_str())
        || before.ends_with(':');
    let Some((user, secret)) = bare(word).split_once(':') else { return false };
    let plain = |part: &str| part.len() >= 3 && part.chars().all(char::is_alphanumeric);
    given && plain(user) && plain(secret) && secret.chars().any(char::is_alphabetic)
}
