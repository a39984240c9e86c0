//! Containers and services. Not plain: devices, volumes and rights, other clusters and accounts, local helpers.

use super::{LIST, OptionList, Style};

const KUBECTL: &str = "-Awp -n: -o: -l: -L: -c: --namespace= --output= --all-namespaces --watch --selector= --field-selector= \
    --show-labels --sort-by= --no-headers --container= --previous --tail= --since= --timestamps --show-kind \
    --ignore-not-found --chunk-size= --request-timeout= --limit-bytes= --since-time= --prefix --max-log-requests= \
    --recursive --api-version= --show-managed-fields? --label-columns= --client --short --api-group= --namespaced? \
    --verbs= --all-containers? --dry-run? --wait? --timeout= --for= --help";

/// Something to build that is not in the workspace: an address, a repository, what stands on the input.
fn is_remote(text: &str) -> bool {
    text == "-"
        || text.contains("://")
        || text.starts_with("git@")
        || text.starts_with("github.com/")
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: &[
            "docker run",
            "docker create",
            "podman run",
            "podman create",
            "nerdctl run",
            "docker container run",
        ],
        plain: "-ditPq -e: -p: -l: -w: -h: -m: -c: -a: --rm --name= --detach --interactive --tty --env= --publish= \
            --publish-all --workdir= --hostname= --memory= --cpus= --platform= --pull= --init --label= --read-only \
            --no-healthcheck --entrypoint= --quiet --stop-timeout= --stop-signal= --restart= --shm-size= --memory-swap= \
            --cpu-shares= --cpuset-cpus= --expose= --tmpfs= --ulimit= --cap-drop= --pids-limit= --attach= --sig-proxy= \
            --help",
        until_operand: 1,
        ..LIST
    },
    OptionList {
        commands: &["docker exec", "podman exec", "nerdctl exec", "docker container exec"],
        plain: "-itd -e: -w: --interactive --tty --detach --env= --workdir= --help",
        until_operand: 1,
        ..LIST
    },
    OptionList {
        commands: &[
            "docker build",
            "podman build",
            "nerdctl build",
            "docker image build",
            "docker buildx build",
        ],
        plain: "-q -t: -f: -m: --tag= --file= --no-cache --pull --target= --build-arg= --platform= --progress= --quiet \
            --label= --rm --force-rm --load --help",
        refused: is_remote,
        ..LIST
    },
    OptionList {
        commands: &["docker compose", "docker-compose", "podman-compose"],
        plain: "-dqaT -t: -p: --detach --build --no-build --force-recreate --no-deps --wait --remove-orphans --pull= --rm \
            --tail= --timestamps --services --quiet --all --timeout= --no-color --no-log-prefix --no-cache --project-name= \
            --profile= --ansi= --progress= --format= --no-start --always-recreate-deps --version --help",
        refused: |text| matches!(text, "exec" | "run" | "cp" | "publish" | "alpha" | "watch"),
        ..LIST
    },
    OptionList {
        commands: &["kubectl", "oc", "k3s kubectl", "minikube kubectl"],
        plain: KUBECTL,
        refused: |text| {
            matches!(
                text,
                "cp" | "edit"
                    | "plugin"
                    | "config"
                    | "proxy"
                    | "port-forward"
                    | "exec"
                    | "run"
                    | "debug"
                    | "attach"
                    | "kustomize"
                    | "rsh"
                    | "rsync"
            ) || text.starts_with("go-template-file")
                || text.starts_with("jsonpath-file")
        },
        ..LIST
    },
    OptionList {
        commands: &["helm"],
        plain: "-aAq -n: -o: -f: --namespace= --output= --values= --set= --set-string= --version= --all --all-namespaces \
            --dry-run? --debug --wait --timeout= --atomic --install --create-namespace --help",
        refused: |text| matches!(text, "plugin" | "registry" | "repo" | "push" | "env"),
        ..LIST
    },
    OptionList {
        commands: &["terraform", "tofu", "terragrunt"],
        style: Style::OneDash,
        plain: "-no-color -input: -json -var: -var-file: -target: -destroy -refresh: -refresh-only \
            -compact-warnings -detailed-exitcode -lock: -lock-timeout: -parallelism: -check -diff -recursive -write: -list: \
            -upgrade -reconfigure -backend: -version -help -auto-approve -raw -replace:",
        sinks: &["-out"],
        refused: |text| {
            matches!(
                text,
                "console"
                    | "login"
                    | "logout"
                    | "state"
                    | "force-unlock"
                    | "taint"
                    | "untaint"
                    | "run-all"
            )
        },
        ..LIST
    },
    OptionList {
        // Its modules run commands on other machines, or here.
        commands: &["ansible", "ansible-console", "ansible-pull"],
        plain: "-v --list-hosts --version --help",
        ..LIST
    },
    OptionList {
        // Not -i: an inventory can be a program.
        commands: &["ansible-playbook"],
        plain: "-vCD -l: -t: -u: -f: --check --diff --syntax-check --list-hosts --list-tasks --list-tags --limit= --tags= \
            --skip-tags= --forks= --start-at-task= --flush-cache --force-handlers --version --help",
        ..LIST
    },
    OptionList {
        commands: &["gh api"],
        // With a field it is no longer a question but a change.
        plain: "-i -q: -t: -H: -p: --jq= --template= --header= --include --paginate --slurp --silent --cache= --preview= \
            --verbose --help",
        refused: |text| text.contains("://"),
        ..LIST
    },
    OptionList {
        commands: &["gh", "glab"],
        plain: "-dcpv -L: -s: -l: -a: -A: -b: -t: -q: -R: -B: -H: -S: -m: -r: -w: -u: -j: -n: -e: --limit= --state= --label= \
            --assignee= --author= --body= --title= --jq= --json= --template= --repo= --base= --head= --search= --milestone= \
            --reviewer= --draft --fill --comments --patch --name-only --watch --required --log --log-failed --job= --workflow= \
            --branch= --event= --status= --user= --web=false --color= --yes --squash --merge --rebase --delete-branch --auto \
            --approve --comment --request-changes --exit-status --interval= --language= --owner= --archived --no-archived-only \
            --order= --sort= --match= --version --help",
        refused: |text| {
            matches!(
                text,
                "alias"
                    | "extension"
                    | "extensions"
                    | "ext"
                    | "config"
                    | "auth"
                    | "secret"
                    | "variable"
                    | "codespace"
                    | "cs"
                    | "ssh-key"
                    | "gpg-key"
                    | "browse"
                    | "copilot"
                    | "preview"
            )
        },
        ..LIST
    },
    OptionList {
        commands: &["aws", "gcloud", "az", "doctl", "flyctl", "fly", "heroku", "vercel", "netlify"],
        style: Style::OneDash,
        plain: "-o: --output: --query: --region: --max-items: --no-paginate --no-cli-pager --format: --filter: --limit: \
            --project: --zone: --resource-group: --name: --instance-ids: --filters: --bucket: --key: --function-name: \
            --log-group-name: --stack-name: --recursive --human-readable --summarize --quiet --json --version --help",
        refused: |text| {
            matches!(
                text,
                "configure"
                    | "config"
                    | "ssh"
                    | "ssm"
                    | "cloud-shell"
                    | "auth"
                    | "login"
                    | "components"
                    | "extension"
            )
        },
        ..LIST
    },
    OptionList {
        commands: &["systemctl", "journalctl", "loginctl"],
        plain: "-nqalrxek -u: -t: -p: -o: -S: -U: -b? --user --no-pager --lines= --unit= --since= --until= --output= --type= \
            --state= --all --failed --quiet --priority= --boot? --reverse --dmesg --version --help",
        refused: |text| {
            matches!(
                text,
                "edit"
                    | "link"
                    | "set-environment"
                    | "import-environment"
                    | "poweroff"
                    | "reboot"
                    | "halt"
            )
        },
        ..LIST
    },
];
