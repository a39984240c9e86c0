//! What a value looks like: a secret, a name of one, a place, a quantity or an ordinary word.

/// Names of methods, formats and standards that hold digits and are no secrets.
const TERMS: [&str; 64] = [
    "base64",
    "base64url",
    "base32",
    "sha1",
    "sha2",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha3",
    "md5",
    "utf8",
    "utf16",
    "utf8mb4",
    "argon2",
    "argon2i",
    "argon2d",
    "argon2id",
    "hs256",
    "hs512",
    "rs256",
    "es256",
    "oauth1",
    "oauth2",
    "s3",
    "k8s",
    "ec2",
    "x509",
    "http2",
    "http3",
    "tls1",
    "tls12",
    "tls13",
    "ed25519",
    "x25519",
    "p256",
    "secp256k1",
    "aes128",
    "aes256",
    "aes",
    "blake2",
    "blake2b",
    "blake3",
    "crc32",
    "pbkdf2",
    "ipv4",
    "ipv6",
    "win32",
    "x8664",
    "arm64",
    "i18n",
    "l10n",
    "a11y",
    "2fa",
    "mfa2",
    "u2f",
    "fido2",
    "python3",
    "pkcs1",
    "pkcs8",
    "pkcs12",
    "log4j",
    "es6",
    "1password",
];

/// Without the marks that end a sentence or a quotation.
pub fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| {
        matches!(
            c,
            '"' | '\'' | '`' | '.' | ',' | ';' | ':' | '!' | '?' | ')' | '(' | '”' | '“' | '…'
        )
    })
}

/// `<token>`, `$TOKEN`, `***`, `op://vault/item`, `env.TOKEN`, `config/secrets.toml`, `os.environ[…]`.
pub fn is_placeholder(value: &str) -> bool {
    let body = value.trim_end_matches(['.', ',', ';']);
    body.starts_with(['<', '$', '{', '%', '*', '.', '/', '~', '[', '…', '&'])
        || ["://", "::", "(", "[", "${", "$("].iter().any(|mark| body.contains(mark))
        || body.bytes().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-' | b'_' | b'?'))
        || is_path(body)
        || is_file(body)
        || is_dotted_name(body)
        || is_variable(body)
}

/// A directory in small letters before a slash.
fn is_path(value: &str) -> bool {
    value.split_once('/').is_some_and(|(folder, _)| {
        folder.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_' | b'-'))
    })
}

/// `login.rs`, `secrets.v2.toml`, `.env.tpl`
fn is_file(value: &str) -> bool {
    let Some((stem, ending)) = value.rsplit_once('.') else { return false };
    let known = (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && ending.bytes().any(|byte| byte.is_ascii_lowercase());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    known && stem.len() >= 2 && stem.bytes().all(plain) && !is_random(stem)
}

/// `self.token`, `settings.auth.password`
fn is_dotted_name(value: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    value.contains('.') && value.split('.').all(part)
}

/// `SHOP_TOKEN`, `PASSWORD`: the name of a variable, or a word that stands for the value.
fn is_variable(value: &str) -> bool {
    let upper = value
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let letters = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    upper && value.starts_with(|c: char| c.is_ascii_uppercase()) && (value.contains('_') || letters)
}

/// Digits with a unit, a version, a range, a date.
pub fn is_quantity(value: &str) -> bool {
    let body = bare(value);
    let body = body.strip_prefix(['v', 'V', '~', '^', '#', '+']).unwrap_or(body);
    let number = body.trim_end_matches(|c: char| c.is_alphabetic() || c == '%');
    let unit = body.len() - number.len();
    !number.is_empty()
        && unit <= 4
        && number
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '/' | ':' | '_' | '–'))
        && number.starts_with(|c: char| c.is_ascii_digit())
}

pub fn is_number(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// A term of the trade, or a compound that begins with one: `base64-encoded`.
fn is_term(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let known = |part: &str| TERMS.contains(&part) || is_rfc(part);
    let joined: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    let compound = lower.split('-').next().is_some_and(known)
        && lower.split('-').skip(1).all(|part| part.len() <= 8 && !is_mixed_run(part));
    known(&joined) || compound
}

fn is_rfc(part: &str) -> bool {
    ["rfc", "cve", "adr", "pep"].iter().any(|name| part.strip_prefix(name).is_some_and(is_number))
}

/// `SHOP-1234`
fn is_ticket(value: &str) -> bool {
    value.split_once('-').is_some_and(|(project, number)| {
        (2..=8).contains(&project.len())
            && project.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.len() <= 5
            && is_number(number)
    })
}

/// `shop_token_v2`: words between underscores, each with two digits at most.
fn is_identifier(value: &str) -> bool {
    value.contains('_')
        && value.split('_').all(|part| {
            let digits = part.bytes().filter(u8::is_ascii_digit).count();
            let lower = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            lower && digits <= 2 && (digits == 0 || part.len() <= 12)
        })
}

fn is_mixed_run(run: &str) -> bool {
    run.bytes().any(|byte| byte.is_ascii_digit()) && run.chars().any(char::is_alphabetic)
}

/// Letters and digits together, or marks between letters, as no ordinary word, name or place has.
pub fn is_mixed(value: &str) -> bool {
    let value = bare(value);
    if value.len() < 4 || is_placeholder(value) || is_quantity(value) {
        return false;
    }
    if is_term(value) || is_ticket(value) || is_identifier(value) {
        return false;
    }
    if is_mixed_run(value) {
        return true;
    }
    let letters = value.chars().any(char::is_alphabetic);
    let marks = value
        .chars()
        .any(|c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '*' | '+' | '=' | '~'));
    (letters && marks) || is_passphrase(value)
}

/// `correct-horse-battery`, but not `end-to-end`.
fn is_passphrase(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    let word = |part: &&str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    parts.len() >= 3 && parts.iter().all(word)
}

/// Letters and digits in one run, or so many changes between kinds of characters that nobody wrote it.
/// Commits and digests in hexadecimal, identifiers and paths are not.
pub fn is_random(word: &str) -> bool {
    let body = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=' | b'.' | b'~')
    };
    if body.len() < 20 || !body.bytes().all(plain) || is_hex(body) || is_uuid(body) {
        return false;
    }
    let marks = ['/', '_', '-', '+', '=', '.', '~'];
    let longest = body.split(marks).max_by_key(|run| run.len()).unwrap_or(body);
    if has_all_kinds(longest) && longest.len() >= 20 && changes(longest) * 5 >= longest.len() {
        return true;
    }
    // In small letters only a run that is full of digits counts.
    let digits = longest.bytes().filter(u8::is_ascii_digit).count();
    if longest.len() >= 20
        && !is_hex(longest)
        && digits >= 4
        && changes(longest) * 10 >= longest.len() * 3
    {
        return true;
    }
    // Base 64 has slashes, and so have paths; a path has words.
    let runs: String = body.split(marks).collect();
    runs.len() >= 32 && has_all_kinds(&runs) && changes(&runs) * 10 >= runs.len() * 3
}

fn has_all_kinds(run: &str) -> bool {
    let count = |kind: fn(&u8) -> bool| run.bytes().filter(kind).count();
    count(u8::is_ascii_digit) >= 1
        && count(u8::is_ascii_uppercase) >= 2
        && count(u8::is_ascii_lowercase) >= 2
}

/// How often small letters, capitals and digits take turns; a capital that begins a word is no change.
fn changes(run: &str) -> usize {
    let kind = |byte: &u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let kinds: Vec<u8> = run.as_bytes().iter().map(kind).collect();
    kinds.windows(2).filter(|pair| pair.first() != pair.last()).count()
}

pub fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Hexadecimal groups with hyphens: an id.
pub fn is_uuid(word: &str) -> bool {
    let groups: Vec<&str> = word.split('-').collect();
    groups.len() == 5 && groups.iter().all(|group| group.len() >= 4 && is_hex(group))
}

/// What stands behind a mere `key`: sixteen characters or more, with digits and letters, and no words.
pub fn is_key_material(value: &str) -> bool {
    let body = bare(value);
    let run = body.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    });
    body.len() >= 16
        && run
        && is_mixed_run(body)
        && !is_placeholder(body)
        && !is_identifier(body)
        && !is_term(body)
        && (is_hex(body) || is_uuid(body) || changes(body) >= 3)
}
