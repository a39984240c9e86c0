//! Programs that speak to other hosts. Not plain: files they write beside the download, other ways to the host, files of
//! options, helpers.

use super::{LIST, OptionList, Style};

/// A file as an address, a file of words, or a format that writes.
fn is_local(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let value = text.split_once('=').map_or(text.as_str(), |(_, value)| value);
    value.starts_with("file:")
        || text.starts_with("file:")
        || text.starts_with('@')
        || value.starts_with('@')
        || text.starts_with('-') && !text.starts_with("--") && text.contains('@')
        || value.starts_with('<')
        || text.contains("%output{")
        || ["gopher:", "dict:", "telnet:", "ldap:", "smb:", "scp:", "sftp:", "tftp:"]
            .iter()
            .any(|scheme| value.starts_with(scheme))
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &["curl"],
        plain: "-fgiIjkLlNRqsSvV#0123446aBGZ -A: -C: -d: -e: -F: -H: -m: -r: -u: -w: -X: -y: -Y: -z: --silent \
            --show-error --fail --fail-with-body --fail-early --location --head --include --verbose --compressed --get \
            --header= --data= --data-raw= --data-binary= --data-ascii= --json= --form= --form-string= \
            --request= --user= --user-agent= --referer= --url= --max-time= --connect-timeout= --retry= --retry-delay= \
            --retry-max-time= --retry-connrefused --retry-all-errors --http1.0 --http1.1 --http2 --http2-prior-knowledge \
            --http3 --tlsv1 --tlsv1.2 --tlsv1.3 --insecure --ipv4 --ipv6 --range= --write-out= --no-buffer \
            --no-progress-meter --progress-bar --globoff --max-redirs= --limit-rate= --speed-limit= --speed-time= \
            --max-filesize= --path-as-is --oauth2-bearer= --basic --digest --anyauth --no-keepalive --parallel \
            --parallel-max= --raw --post301 --post302 --post303 --proto= --proto-redir= --ssl-reqd --time-cond= --disable \
            --next --url-query= --tr-encoding --continue-at= --cacert= --expect100-timeout= --version --help",
        sinks: &["-o", "--output"],
        refused: is_local,
        ..LIST
    },
    OptionList {
        commands: &["wget", "wget2"],
        plain: "-qvnSNcdpkHhV46 -t: -T: -w: -U: -l: -A: -R: -D: --quiet --no-verbose --verbose --server-response \
            --spider --tries= --timeout= --wait= --user-agent= --header= --method= --continue --timestamping --no-clobber \
            --show-progress --progress= --level= --no-parent --accept= --reject= --domains= --max-redirect= \
            --inet4-only --inet6-only --no-check-certificate --https-only --limit-rate= --connect-timeout= \
            --read-timeout= --dns-timeout= --post-data= --body-data= --content-on-error --no-cookies --no-cache \
            --compression= --quota= --random-wait --waitretry= --retry-connrefused --page-requisites --convert-links \
            --no-directories --no-host-directories --cut-dirs= --no-hsts --no-proxy --version --help",
        sinks: &["-O", "--output-document"],
        // The file gets the last part for its name.
        refused: |text| is_local(text) || text.contains("/."),
        ..LIST
    },
    OptionList {
        commands: &["http", "https", "xh", "xhs"],
        plain: "-jfvhbqF -a: -A: -p: -s: --json --form --verbose --headers --body --quiet --follow --auth= --auth-type= \
            --print= --style= --pretty= --timeout= --check-status --ignore-stdin --max-redirects= --all --stream \
            --raw= --version --help",
        refused: |text| text.contains("@") && !text.contains("://"),
        ..LIST
    },
    OptionList {
        commands: &[
            "aria2c",
            "axel",
            "yt-dlp",
            "youtube-dl",
            "lftp",
            "lynx",
            "w3m",
            "links",
            "elinks",
        ],
        plain: "-qvnFJ -c -x: -s: -j: -k: -t: --quiet --no-warnings --list-formats --dump-json --skip-download --simulate \
            --max-connection-per-server= --split= --continue --check-certificate= --timeout= -dump --version --help",
        refused: is_local,
        ..LIST
    },
    OptionList {
        commands: &["ssh", "mosh", "autossh"],
        plain: "-46aCqvTtnxNkyV -p: -l: -i: -c: -m: -b:",
        // It takes options behind the host, too.
        until_operand: 2,
        ..LIST
    },
    OptionList { commands: &["scp", "sftp"], plain: "-346rpqvCBTO -P: -i: -l: -c:", ..LIST },
    OptionList {
        commands: &["ssh-keygen", "ssh-keyscan", "ssh-add", "ssh-copy-id"],
        plain: "-lvqH46 -t: -b: -p: -T: -E:",
        ..LIST
    },
    OptionList {
        commands: &["rsync"],
        plain: "-avzrlptgoDhnqcuiWxHAXSPRdkmC0ybs8460OJNU --archive --verbose --compress --recursive --delete \
            --delete-after --delete-before --delete-during --delete-delay --delete-excluded --exclude= --include= \
            --exclude-from= --include-from= --dry-run --progress --stats --human-readable --itemize-changes \
            --checksum --update --partial --inplace --links --perms --times --owner --group --no-* \
            --size-only --ignore-existing --existing --max-size= --min-size= --bwlimit= --timeout= --quiet --relative \
            --dirs --numeric-ids --chmod= --info= --mkpath --omit-dir-times --prune-empty-dirs --ignore-errors \
            --list-only --cvs-exclude --append --whole-file --hard-links --acls --xattrs --sparse --safe-links \
            --munge-links --port= --version --help",
        ..LIST
    },
    OptionList {
        commands: &["nc", "ncat", "netcat"],
        plain: "-zvnu46lk -w: -p: -q: --version --help",
        ..LIST
    },
    OptionList {
        commands: &["openssl"],
        style: Style::OneDash,
        plain: "-in: -text -noout -subject -issuer -dates -fingerprint -serial -enddate -startdate -purpose -hash \
            -modulus -pubkey -pubin -inform: -outform: -connect: -servername: -showcerts -brief -sha1 -sha256 -sha384 \
            -sha512 -md5 -hex -base64 -binary -hmac: -days: -nodes -noenc -newkey: -x509 -new -subj: -key: \
            -CAfile: -verify: -tls1_2 -tls1_3 -alpn: -status -quiet -ign_eof -a -A -d -e -aes-256-cbc -aes-128-cbc \
            -aes-256-ctr -salt -pbkdf2 -iter: -k: -pass: -passin: -passout: -K: -iv: -nopad -p -ext: -nameopt: -certopt: \
            -checkend: -checkhost: -v -r -c -help -algorithm: -pkeyopt:",
        least: 1,
        first: Some(|text| {
            matches!(text, "ca" | "s_server" | "engine" | "ocsp" | "ts" | "cms" | "smime")
        }),
        ..LIST
    },
    OptionList {
        commands: &["gpg", "gpg2", "gpgv"],
        plain: "-abdkKqv -u: -r: --verify --list-keys --list-secret-keys --fingerprint --armor --detach-sign --clearsign \
            --with-colons --batch --decrypt --quiet --verbose --local-user= --recipient= --version --help",
        ..LIST
    },
    OptionList {
        commands: &["tcpdump", "tshark", "dumpcap"],
        plain: "-nvAXeqtlSKpDxO -i: -c: -s: -f: -Y: -T:",
        ..LIST
    },
];
