//! What is refused and what is kept, in tables; the rates of error are printed.

use super::*;
use proptest::prelude::*;

/// Sentences and commands that hold a secret.
const REFUSED: &[&str] = &[
    // By the form.
    "use ghp_abcdefghijklmnopqrstuvwxyz012345 for the bot",
    "AWS: AKIAIOSFODNN7EXAMPLE",
    "the key is sk-ant-a1B2a1B2a1B2a1B2a1B2a1B2",
    "OpenAI is called with sk-proj-Zk39fjA0sldkfj29fkQQ",
    "token: xoxb-123456789012-abcdef",
    "Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.abc",
    "-----BEGIN RSA PRIVATE KEY----- MIIE",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
    "GitLab runs with glpat-aB3dE5fG7hI9jK1lM3nO",
    "The maps key AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q is billed to us",
    "stripe listens with whsec_5b1f4d2c8a7e3f60b1f4d2c8a7e3f60",
    "vault gave hvs.CAESIJ3kq9fj2Wm1XlVtQ0",
    // In an address.
    "connect with postgres://app:hunter2@db.internal/shop",
    "proxy http://ann:secret9@proxy:3128",
    "git clone https://bot:a94f0cc1@github.com/a/b",
    "redis://:Zebra99@cache:6379/0 is the queue",
    "mongodb+srv://root:swordfish@cluster0.mongodb.net",
    "the host is admin:S3cret9@db.internal",
    "rsync to deploy:Zebra99!@backup.local works",
    // Behind an option.
    "deploy --password hunter22 --bad",
    "deploy --password=hunter22",
    "deploy --password swordfish",
    "sshpass -p hunter22 ssh root@db",
    "sshpass -phunter22 ssh root@db",
    "curl -u admin:S3cret9 https://api.internal",
    "curl -uadmin:S3cret9 https://api.internal",
    "curl --user admin:swordfish https://api.internal",
    "curl --user=admin:S3cret9 https://api.internal",
    "mysql -phunter22 shop",
    "mysql -u root -proot shop",
    "mysqldump -u root -phunter22 shop > x.sql",
    "redis-cli -a hunter22 ping",
    "mongosh -u root -p hunter22 shop",
    "docker login -u bot -p Zebra99 registry.internal",
    "ldapsearch -D cn=admin -w hunter22 -b dc=x",
    "unzip -P hunter22 dump.zip",
    "sqlcmd -S db -U sa -P Zebra99!",
    "smbclient //nas/share -U ann%S3cret9",
    "openssl enc -aes-256-cbc -k hunter22 -in a",
    "openssl pkcs12 -in a.p12 -passin pass:hunter22",
    "gpg --batch --passphrase hunter22 -d a.gpg",
    "wget --http-password=hunter22 https://x.internal/a",
    "oc login --token=kx93jfla02mf --server=https://c",
    "helm upgrade shop . --set db.password=hunter22",
    "kubectl create secret generic db --from-literal=password=hunter22",
    "gh api -H \"X-Api-Key: 8fk2mz91qw\" /repos",
    "curl -H 'Authorization: Basic YWRtaW46aHVudGVyMjI=' https://x",
    "az login -u bot -p Zebra99! --tenant t",
    // In a variable.
    "PASS=hunter22abc",
    "PASS=hunter22abc ./deploy.sh",
    "DB_PASSWORD=hunter22",
    "export GITHUB_TOKEN=abc123def456",
    "PGPASSWORD=hunter22 psql -h db shop",
    "MYSQL_PWD=swordfish mysql shop",
    "SECRET_KEY='d9fk2-3kf92' python manage.py",
    "heroku config:set API_KEY=zx81kd93",
    "AccountKey=Zk39fjA0sldkfj29fkQQ==;EndpointSuffix=core",
    // Behind a name.
    "password = hunter22",
    "password: swordfish",
    "\"api_key\": \"f00baa-1234\"",
    "the admin password is Tr0ub4dor&3",
    "the pass is hunter22!",
    "pw Zebra99!",
    "PIN 4711 opens the door of the server room",
    "the passphrase is correct-horse-battery",
    "The password for the staging database is Zebra99!",
    "the root password was changed to hunter22",
    "aws_secret_access_key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "Use token abcdef1234567890",
    "key=0123456789abcdef0123456789abcdef",
    "the key is 0123456789abcdef0123456789abcdef",
    "the API key is 8f14e45fceea167a",
    "token 550e8400-e29b-41d4-a716-446655440000 is for CI",
    "Das Passwort ist Zebra99!",
    "log in as admin/hunter22",
    "the credentials are admin:S3cret9",
    "config[\"password\"] = \"hunter22\"",
    "wifi psk: blue-table-lamp",
    "client_secret -> 8Q~abc123def456",
    // In plain words.
    "the password of the router is freddyk",
    "the staging password is correcthorse",
    "the root password is toor",
    "The root password is toor.",
    "Login with user bob and password bobbybrown",
    "Log in with user bob and password bobbybrown, then restart.",
    "Basic auth is bob:winterwonder",
    "the passphrase is correct horse battery staple",
    "passphrase: correct horse battery staple",
    "Remember that the wifi password is correcthorse",
    "The wifi password is still correcthorse.",
    "Set the password to correcthorse",
    "the root password was changed to correcthorse",
    "Das Passwort ist winterwunder",
    "the client secret is winterwonder",
    "The password for staging: winterwonder",
    "the passwd on build is `winterwonder`",
    "the passwords are freddyk and bobbybrown",
    "the router password is old-horse-shoe",
    // By chance alone.
    "signing key 9aF3kQz7Lw2XbN8vRt5YcJ1mHs6Pd4Ge",
    "it answers to 9aF3kQz7Lw2XbN8vRt5YcJ1m only",
    "send wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY along",
    "the webhook wants k3j4h5k6j7h8g9f0z1s2q8",
];

/// Sentences and commands as they stand in ordinary notes.
const KEPT: &[&str] = &[
    "The password field is validated in login.rs",
    "Use the token bucket for rate limits",
    "key = value files are parsed by ini.rs",
    "Passwords are hashed with argon2id, memory 64 MiB, three passes.",
    "Authentication tokens are opaque and looked up.",
    "The token is read from the environment variable SHOP_TOKEN.",
    "password: required",
    "The password reset link is valid for 20 minutes.",
    "token = $TOKEN",
    "api_key = \"<your key>\"",
    "Secrets come from 1password: op run --env-file .env.tpl -- just dev.",
    "Pinned to 182cbf5a0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f.",
    "sha256 b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "The tokenizer: wordpiece with 30522 entries.",
    "Authors: Ann and Bob",
    "crates/core/src/permission/step_verdict_tests_and_more.rs holds them",
    "Rotate the API key of the shipping provider in Vault.",
    "The cookie shop_sid is HttpOnly.",
    "max_tokens = 8000",
    "The clone URL is https://github.com/a/b and ssh://git@host/a.git",
    "auth: see docs/auth.md",
    "git clone git@github.com:acme/shop.git",
    "The password is case-sensitive.",
    "The access token is short-lived and the refresh token is one-time.",
    "The token is base64-encoded and signed with HS256.",
    "Tokens expire after 15m; the session cookie after 30d.",
    "Never log the password, the token or the api key.",
    "Pass the token as a header, not in the query.",
    "Use the --password option of the CLI only in tests.",
    "Use --token-file ~/.config/shop/token to log in.",
    "docker login --password-stdin reads the token from a pipe",
    "Use mysql -p to be asked for the password.",
    "docker run -u 1000:1000 -p 8080:80 web",
    "docker run --user node:node web",
    "cargo test -p ostler-cli --test it memory",
    "mkdir -p src/auth/token2 && touch src/auth/mod.rs",
    "curl -u \"$USER:$PASS\" https://api.internal",
    "PGPASSWORD=$PGPASSWORD psql -h db shop",
    "PWD=/home/ann/shop is what make sees",
    "export GITHUB_TOKEN=$(gh auth token)",
    "The primary key of orders is order_id.",
    "The foreign key user_id2 was dropped in migration 0042.",
    "cache_key = users:v2 is what the cache uses",
    "The sort key is created_at.",
    "Press any key to go on.",
    "The public key is in keys/release.pub.",
    "The private key lives in /etc/ssl/private/shop.pem",
    "token::Bucket::new(10) limits the calls",
    "struct Login { user: String, password: SecretString }",
    "fn login(user: &str, password: &str) -> Token",
    "self.token = other.token copies it",
    "The secret is stored in Vault under shop/stripe.",
    "Secret scanning is on for every repository.",
    "The pin 17 of the board is the LED.",
    "Pin node to 20.11.1 in CI.",
    "The compiler makes 3 passes; pass 2 folds constants.",
    "The bypass is in middleware.ts",
    "Commit 182cbf5 broke the auth tests.",
    "Request id 550e8400-e29b-41d4-a716-446655440000 is in the log.",
    "Image redis:7.2-alpine@sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "\"react\": \"npm:@preact/compat@17.1.2\" stays pinned",
    "Write to mailto:support@example.com for access.",
    "The OAuth2 token endpoint is /oauth2/token.",
    "The password hash is PBKDF2 with SHA-256.",
    "Token: refreshed every hour by the sidecar.",
    "Password rules: at least 12 characters, checked in signup.ts.",
    "The login page is web/src/pages/login.tsx",
    "Sign in with the SSO of the company; the role is admin.",
    "The key insight was that the cache is per region.",
    "handleUserLoginRequestWithTwoFactorTokenFromHeader is too long a name",
    "The API key header is X-Api-Key.",
    "Bearer tokens are checked in auth.rs; Basic authentication is off.",
    "The jwt is in the Authorization header as a Bearer token.",
    "Fix password SHOP-1234 before the release.",
    "The staging port is 5433, the user is app, the password is in .env.staging.",
    "Run npm ci --prefix web && npm run build:prod",
    "kubectl -n shop get pods web-6d4cf56db6-x2x9z",
    "ssh -p 2222 deploy@build.internal",
    "psql -h localhost -p 5433 -U app shop",
    "See https://docs.google.com/document/d/1aBcD3fGhIjKlMnOpQrStUvWxYz012345 for the plan",
    "The password must not be empty!",
    "Use passkeys instead of passwords from 2026-03-01.",
    "The password is stored in the keychain",
    "Passwords are hashed with argon2",
    "the pin is optional",
    "The password is required.",
    "The password is never logged.",
    "The passphrase is asked for at the start.",
    "The password of the router is in the vault.",
    "The password for staging is kept in 1password.",
    "The secret is that every region has its own cache.",
    "Secrets are mounted at /run/secrets.",
    "The login form has a user and password field.",
    "Log in with a user name and password, then open the settings.",
    "Add the password to the form and the token to the header.",
    "Always pin to exact versions.",
    "The password is too short if it has less than 12 characters.",
    "The password is longer-lived than the token.",
    "The second pass is slow.",
    "The password is $DB_PASSWORD in the compose file.",
    "Basic auth is off; the login route is web/login.",
    "The credentials are rotated by Vault every day.",
];

#[test]
fn credentials_are_refused_and_ordinary_notes_kept() {
    assert!(REFUSED.len() >= 60 && KEPT.len() >= 60);
    let missed: Vec<&&str> = REFUSED.iter().filter(|text| credential(text).is_none()).collect();
    let wronged: Vec<_> =
        KEPT.iter().filter_map(|text| credential(text).map(|why| (text, why))).collect();
    println!(
        "secrets: {} of {} kept that must be refused; {} of {} ordinary notes refused",
        missed.len(),
        REFUSED.len(),
        wronged.len(),
        KEPT.len()
    );
    assert!(missed.is_empty() && wronged.is_empty(), "kept: {missed:#?}\nrefused: {wronged:#?}");
}

/// Written after the rules, to see how they do on what they were not made for: two of the first twenty were kept then, a
/// login with blanks around its slash and `-storepass`.
const UNSEEN_REFUSED: &[&str] = &[
    "the grafana admin pass: Pa55word",
    "Login for the demo shop is demo@example.com / Winter2026!",
    "http -a ann:Winter2026 GET https://api.internal/me",
    "ftp://backup:Winter2026@nas.local/dumps",
    "export STRIPE_SECRET=9f8e7d6c5b4a",
    "set REDIS_PASS to w1nterc0at before starting",
    "keytool -storepass changeit1 -list",
    "psql \"host=db user=app password=Winter2026\"",
    "jdbc:mysql://db/shop?user=app&password=Winter2026",
    "rclone config create s3 secret_access_key=Wnt2026abcDEF",
    "The Wi-Fi password of the office is BlueLamp77",
    "vault token: s.9Xk2mQp4Rt6Yw8Za",
    "hashcat cracked it: password = letmein",
    "curl 'https://api.internal/v1?api_key=9f8e7d6c5b4a3210'",
    "NPM_TOKEN is 0f3c1a2b-9d8e-4c7b-a6f5-e4d3c2b1a098",
    "pg_dump --dbname=postgresql://app:Winter2026@db/shop",
    "echo 'machine git.internal login bot password Winter2026' >> ~/.netrc",
    "sudo mount -t cifs //nas/x /mnt -o username=ann,password=Winter2026",
    "the sudo password on build-3 is still raspberry1",
    "X-Auth-Token: 7b6a5c4d3e2f1a0b",
];

const UNSEEN_KEPT: &[&str] = &[
    "The secret to a fast build is sccache.",
    "Key rotation runs on the first of the month.",
    "Token counts are estimated with chars / 3.",
    "Password managers fill the form only if autocomplete is on.",
    "Run cargo test -p api --features auth_v2",
    "The PIN pad driver is in drivers/pinpad.c",
    "Two passes are needed: pass 1 collects, pass 2 writes.",
    "OAuth tokens live in the table oauth_tokens, one row per device.",
    "The env file names DATABASE_URL, SECRET_KEY_BASE and REDIS_URL.",
    "curl -H \"Authorization: Bearer $TOKEN\" https://api.internal/me",
    "ssh -i ~/.ssh/id_ed25519 deploy@10.0.0.5",
    "Use key: value pairs in the YAML, never tabs.",
    "The auth service listens on :8443 and talks gRPC.",
    "Reviewers want the token parser split from the lexer.",
    "API keys are shown once; only their SHA-256 is stored.",
    "redis-cli -h cache -p 6379 ping",
    "git show 9f8e7d6c5b4a3210:src/auth.rs",
    "The public key fingerprint is checked at start.",
    "The credentials file is ~/.aws/credentials, profile shop-dev.",
    "Set the password via the POSTGRES_PASSWORD_FILE variable.",
];

#[test]
fn unseen_texts() {
    let missed: Vec<&&str> =
        UNSEEN_REFUSED.iter().filter(|text| credential(text).is_none()).collect();
    let wronged: Vec<&&str> =
        UNSEEN_KEPT.iter().filter(|text| credential(text).is_some()).collect();
    println!(
        "secrets, unseen: {} of {} kept that must be refused; {} of {} ordinary notes refused",
        missed.len(),
        UNSEEN_REFUSED.len(),
        wronged.len(),
        UNSEEN_KEPT.len()
    );
    assert!(missed.is_empty() && wronged.is_empty(), "kept: {missed:#?}\nrefused: {wronged:#?}");
}

/// Commands that are learned unasked.
const NOT_LEARNT: &[&str] = &[
    "deploy --password hunter22 --bad",
    "deploy -p Zebra99",
    "deploy -pZebra99",
    "mytool -u ann:swordfish",
    "API_TOKEN=abc deploy",
    "KEY=abcd deploy",
    "echo swordfish | docker login --password-stdin",
    "echo swordfish | sudo -S apt update",
    "vault login swordfish",
    "gh auth login",
    "psql <<< swordfish",
    "aws configure set aws_secret_access_key x",
    "curl -b session=abcdef https://x",
    "curl -H 'Cookie: a=b' https://x",
    "curl https://x.internal/a1b2c3d4e5f6g7h8",
    "tool abcdefgh1234xyz",
    "htpasswd -b users ann swordfish",
    "tool --auth-token abc",
    "npm config set //registry/:_authToken swordfish",
    "security find-generic-password -w x",
];

const LEARNT: &[&str] = &[
    "cargo test -p ostler-cli --test it memory",
    "cargo test auth::login",
    "npm run test:ci",
    "npm test --silent",
    "git checkout 182cbf5a0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f",
    "docker run -p 8080:80 web",
    "ssh -p 2222 deploy@build.internal",
    "psql -h localhost -p 5433 -U app shop",
    "grep -rn token src/lexer.rs",
    "just lint && just test",
    "RUST_LOG=debug cargo run -- --port 8080",
    "python3 -m pytest tests/test_auth.py -k login",
    "make -C web build",
    "mkdir -p src/auth",
    "TOKEN=$CI_TOKEN ./deploy.sh",
    "./gradlew :app:test --tests LoginTest",
    "pnpm --filter web build",
    "git push origin main",
    "sed -i s/a/b/ src/token.rs",
    "OSTLER_TEST_MODEL=/models/a.bin cargo test",
];

#[test]
fn commands_learnt_unasked_are_judged_more_strictly() {
    let learnt: Vec<&&str> = NOT_LEARNT.iter().filter(|text| !is_doubtful(text)).collect();
    let lost: Vec<&&str> = LEARNT.iter().filter(|text| is_doubtful(text)).collect();
    println!(
        "commands: {} of {} learnt that must not be; {} of {} harmless ones not learnt",
        learnt.len(),
        NOT_LEARNT.len(),
        lost.len(),
        LEARNT.len()
    );
    assert!(learnt.is_empty() && lost.is_empty(), "learnt: {learnt:#?}\nlost: {lost:#?}");
    for text in REFUSED {
        assert!(is_doubtful(text), "{text}");
    }
}

#[test]
fn the_fixtures_are_ordinary_notes() {
    let pairs = include_str!("../../../../fixtures/memory/pairs.psv").lines();
    let pairs = pairs.filter_map(|line| line.split('|').nth(1));
    let others = include_str!("../../../../fixtures/memory/distractors.psv").lines();
    let others = others.filter_map(|line| line.split('|').next_back());
    let all: Vec<&str> = pairs.chain(others).collect();
    let wronged: Vec<_> =
        all.iter().filter_map(|text| credential(text).map(|why| (text, why))).collect();
    println!("secrets: {} of {} fixtures refused", wronged.len(), all.len());
    assert!(wronged.is_empty(), "{wronged:#?}");
}

proptest! {
    #[test]
    fn never_panics(text in "\\PC{0,200}") {
        let _ = (credential(&text), is_doubtful(&text));
    }

    /// Whatever the password, with a digit in it, and however it is given.
    #[test]
    fn a_made_up_password_is_found(password in "[a-zA-Z]{4,8}[0-9]{2,4}", form in 0usize..9) {
        let text = match form {
            0 => format!("deploy --password {password} now"),
            1 => format!("deploy --password={password}"),
            2 => format!("sshpass -p {password} ssh x"),
            3 => format!("mysql -p{password} shop"),
            4 => format!("curl -u ann:{password} https://x"),
            5 => format!("DB_PASS={password} ./run"),
            6 => format!("the password is {password}"),
            7 => format!("pw {password}"),
            _ => format!("postgres://app:{password}@db/shop"),
        };
        prop_assert!(credential(&text).is_some(), "{}", text);
    }
}
