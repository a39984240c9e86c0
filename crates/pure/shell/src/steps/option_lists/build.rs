//! Compilers, linkers and build tools. Not plain: plugins, wrappers, programs and directories to take programs from, other
//! project files, files of options.

use super::{LIST, OptionList, Style};

const COMPILERS: &[&str] =
    &["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "gdc", "cpp"];

/// The compiler behind `gcc-13` or `x86_64-linux-gnu-gcc`.
pub(super) fn compiler(name: &str) -> Option<&'static str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let stem = if stem.len() < name.len() { stem.strip_suffix('-').unwrap_or(stem) } else { stem };
    let is = |known: &&&str| {
        stem == **known || stem.strip_suffix(**known).is_some_and(|before| before.ends_with('-'))
    };
    COMPILERS.iter().find(is).copied()
}

fn is_file_of_options(text: &str) -> bool {
    text.starts_with('@')
}

/// Variables of make that say how much it prints or which part it builds. Any other could become part of a command.
const OF_MAKE: &[&str] = &[
    "V",
    "VERBOSE",
    "Q",
    "QUIET",
    "SILENT",
    "DEBUG",
    "RELEASE",
    "TEST",
    "TESTS",
    "TESTNAME",
    "TEST_NAME",
    "FILTER",
    "CI",
    "COLOR",
    "NOCOLOR",
    "NO_COLOR",
    "COVERAGE",
    "JOBS",
    "NPROC",
    "N",
    "MODE",
    "BUILD",
    "BUILD_TYPE",
    "CONFIG",
    "PROFILE",
    "OPT",
    "VERSION",
    "ARCH",
    "OS",
    "PLATFORM",
    "TARGET",
    "PKG",
    "PACKAGE",
    "MODULE",
    "COMPONENT",
    "RACE",
    "SHORT",
    "COUNT",
    "TIMEOUT",
    "WERROR",
    "SANITIZE",
    "ASAN",
];

/// A variable of make, unless it is one that cannot change which shell, program or option is used: a known name, and a
/// value that a shell would take for one plain word.
fn sets_a_variable(text: &str) -> bool {
    let Some((name, value)) = text.split_once('=') else { return false };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._,+".contains(c) || c == '-';
    let fine = OF_MAKE.contains(&name)
        && !value.starts_with('-')
        && !value.contains("..")
        && value.len() <= 64
        && value.chars().all(is_plain);
    !text.starts_with('-') && !fine
}

pub(super) static LISTS: &[OptionList] = &[
    OptionList {
        commands: COMPILERS,
        style: Style::OneDash,
        plain: "-c -S -E -v -w -s -g* -O* -o: -o* -I: -I* -D: -D* -U: -U* -L: -L* -l* -std=* -ansi -pedantic \
            -pedantic-errors -pthread -pipe -static -static-libgcc -static-libstdc++ -shared -rdynamic -pie -no-pie \
            -fPIC -fpic -fPIE -fpie -m32 -m64 -march=* -mtune=* -mcpu=* -mfpu=* -mfloat-abi=* -msse* -mavx* -mno-* \
            -M -MM -MD -MMD -MP -MG -MF: -MT: -MQ: -x: -W* !-Wl,* !-Wa,* !-Wp,* -fno-* -fsanitize=* -fopenmp \
            -fvisibility=* -fvisibility-inlines-hidden -fstack-protector* -fdiagnostics-color* -fcolor-diagnostics \
            -fmax-errors=* -ferror-limit=* -fwrapv -ffast-math -fdata-sections -ffunction-sections -fcommon \
            -fexceptions -frtti -flto -flto=* -ftrapv -fsyntax-only -ffile-prefix-map=* -fdebug-prefix-map=* \
            -fmacro-prefix-map=* -ffreestanding -fomit-frame-pointer -funroll-loops -fstrict-aliasing \
            -fsigned-char -funsigned-char -fcoroutines -fmodules -fconcepts -fanalyzer -fuse-ld=lld -fuse-ld=gold \
            -fuse-ld=bfd -fuse-ld=mold -include: -isystem: -iquote: -idirafter: --param: -nostdlib -nostdinc \
            -nodefaultlibs -nostartfiles -print-search-dirs -print-file-name=* -print-libgcc-file-name \
            -print-sysroot -dumpversion -dumpmachine -dumpfullversion -dM -P -C -Q -H -target: --target=* -stdlib=* \
            --version --help -###",
        refused: is_file_of_options,
        ..LIST
    },
    OptionList {
        commands: &["rustc", "rustdoc"],
        plain: "-gOvhV -A: -W: -D: -F: -L: -l: -o: --edition= --crate-type= --crate-name= --out-dir= \
            --emit= --cfg= --check-cfg= --cap-lints= --test --explain= --extern= --error-format= --color= \
            --remap-path-prefix= --allow= --warn= --deny= --forbid= --target= --verbose --version --help --print= \
            --document-private-items --no-run",
        refused: |text| is_file_of_options(text) || text.ends_with(".json"),
        ..LIST
    },
    OptionList {
        commands: &["ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "mold", "as"],
        style: Style::OneDash,
        plain: "-o: -r -s -S -g -static -shared -pie -nostdlib -e: -l* -L: -L* -m: -z: --gc-sections --strip-all \
            --strip-debug --as-needed --no-as-needed --start-group --end-group --32 --64 --version --help",
        refused: is_file_of_options,
        ..LIST
    },
    OptionList {
        commands: &["nm", "objdump", "readelf", "size", "strip", "addr2line", "c++filt", "objcopy"],
        plain: "-aACDghlnoprsuvwxdtfSWRTXeVi -j: -M: -t: -e: --demangle? --defined-only --undefined-only \
            --extern-only --dynamic --print-size --size-sort --numeric-sort --disassemble? --disassemble-all \
            --syms --all --headers --file-headers --section-headers --program-headers --symbols --relocs --notes \
            --dynamic-syms --wide --source --line-numbers --section= --start-address= --stop-address= --format= \
            --strip-all --strip-debug --strip-unneeded --only-keep-debug --exe= --functions --inlines --version --help",
        refused: is_file_of_options,
        ..LIST
    },
    OptionList {
        commands: &["make", "gmake"],
        plain: "-BbdhikLmnpqrRsStvw -j? -l: -o: -W: -O? --always-make --debug? --dry-run --just-print --recon --help \
            --ignore-errors --jobs? --keep-going --load-average= --max-load= --no-builtin-rules \
            --no-builtin-variables --no-print-directory --output-sync? --print-data-base --print-directory --question \
            --quiet --silent --stop --no-keep-going --touch --trace --version --warn-undefined-variables --what-if= \
            --old-file= --new-file= --assume-new= --assume-old= --shuffle?",
        refused: sets_a_variable,
        ..LIST
    },
    OptionList {
        commands: &["ninja", "samu"],
        plain: "-nvh -j: -k: -l: --verbose --quiet --version --help",
        ..LIST
    },
    OptionList {
        commands: &["cmake"],
        style: Style::OneDash,
        plain: "-S: -S* -B: -B* -G: -G* -A: -A* -Wdev -Wno-dev -Werror=dev -N -L -LA -LH -LAH --build: --target: -t: \
            --config: --parallel --parallel=* -j* --clean-first --verbose -v --version --help --preset: --preset=* \
            --list-presets --list-presets=* --fresh --log-level=* --install: --prefix: --component: --strip \
            -DCMAKE_BUILD_TYPE=* -DCMAKE_EXPORT_COMPILE_COMMANDS=* -DCMAKE_CXX_STANDARD=* -DCMAKE_C_STANDARD=* \
            -DCMAKE_INSTALL_PREFIX=* -DCMAKE_VERBOSE_MAKEFILE=* -DBUILD_TESTING=* -DBUILD_SHARED_LIBS=* -DBUILD_TESTS=* \
            -DBUILD_EXAMPLES=* -DBUILD_DOCS=* -DENABLE_TESTS=* -DENABLE_TESTING=* -DCMAKE_COLOR_MAKEFILE=*",
        ..LIST
    },
    OptionList {
        commands: &["ctest"],
        style: Style::OneDash,
        plain: "-j* -R: -E: -L: -LE: -V -VV -Q -N -C: -T: -I: --output-on-failure --test-dir: --test-dir=* --timeout: \
            --timeout=* --rerun-failed --parallel: --repeat: --stop-on-failure --progress --preset: --preset=* \
            --schedule-random --no-tests=* --verbose --quiet --version --help",
        ..LIST
    },
    OptionList {
        commands: &["meson"],
        plain: "-vqh -C: -j: -t: --verbose --quiet --suite= --no-suite= --list --print-errorlogs --num-processes= \
            --no-rebuild --repeat= --timeout-multiplier= --benchmark --clean --buildtype= --wipe --reconfigure --jobs= \
            --werror --warnlevel= --optimization= --debug --backend= --version --help",
        refused: |text| matches!(text, "devenv" | "init" | "install" | "subprojects"),
        ..LIST
    },
    OptionList {
        commands: &["bazel", "bazelisk", "buck", "buck2"],
        plain: "-c: -j: -k -t --config= --compilation_mode= --jobs= --keep_going --test_output= --test_filter= \
            --test_timeout= --nocache_test_results --cache_test_results= --verbose_failures --noshow_progress \
            --show_result= --platforms= --color= --curses= --output= --build_tests_only --version --help",
        refused: |text| text == "run",
        ..LIST
    },
    OptionList {
        commands: &["gradle", "sbt", "ant", "lein", "mill"],
        style: Style::OneDash,
        plain: "-q -i -d -s -S -x: -m -t --quiet --info --debug --stacktrace --full-stacktrace --exclude-task: \
            --dry-run --offline --parallel --no-daemon --daemon --rerun-tasks --continue --build-cache --no-build-cache \
            --tests: --console=* --warning-mode=* --warning-mode: --no-parallel --scan --version --help -version -help \
            -batch -Dsbt.log.noformat=*",
        refused: |text| {
            text.starts_with("set ") || text.starts_with("eval ") || text.starts_with('!')
        },
        ..LIST
    },
    OptionList {
        commands: &["mvn", "mvnd"],
        style: Style::OneDash,
        plain: "-q -o -B -e -X -U -N -V -v -h -T: -T* -P: -P* -pl: -pl=* -am -amd -fae -ff -fn -ntp -DskipTests* \
            -Dmaven.test.skip=* -Dtest=* -Dit.test=* -DfailIfNoTests=* -Dsurefire.failIfNoSpecifiedTests=* --quiet \
            --offline --batch-mode --errors --debug --update-snapshots --no-transfer-progress --projects: --also-make \
            --threads: --version --help",
        // A goal with its plugin spelled out can be any plugin.
        refused: |text| !text.starts_with('-') && text.contains(':'),
        ..LIST
    },
    OptionList {
        commands: &["javac", "kotlinc", "scalac"],
        style: Style::OneDash,
        plain: "-d: -cp: -classpath: --class-path: -sourcepath: --source-path: -source: -target: --release: -encoding: \
            -g -g:* -nowarn -verbose -deprecation -Xlint -Xlint:* -Werror -parameters -proc:none -h: -version \
            --version -help --help",
        refused: is_file_of_options,
        ..LIST
    },
    OptionList {
        commands: &["go"],
        style: Style::OneDash,
        plain: "-v -race -run: -run=* -count: -count=* -short -timeout: -timeout=* -cover -coverprofile: \
            -coverprofile=* -covermode: -covermode=* -coverpkg: -coverpkg=* -bench: -bench=* -benchmem -benchtime: \
            -benchtime=* -cpu: -cpu=* -parallel: -parallel=* -failfast -json -list: -list=* -shuffle: -shuffle=* -skip: \
            -skip=* -tags: -tags=* -p: -p=* -a -n -x -trimpath -mod: -mod=* -buildvcs=* \
            -fuzz: -fuzz=* -fuzztime: -fuzztime=* -vet: -vet=* -msan -asan -linkshared -m -u -f: -f=* -e -deps -test -all \
            -s -w -d -l -diff -compat=* -go=* -html=* -func=* -args -help -h -version",
        first: Some(|text| {
            matches!(text, "generate" | "tool" | "telemetry" | "bug" | "install" | "work")
        }),
        // A module of another host.
        refused: |text| matches!(text, "generate" | "tool") || text.contains('@'),
        ..LIST
    },
    // What `go env` is given to change applies to every later go.
    OptionList { commands: &["go env"], style: Style::OneDash, plain: "-json -changed", ..LIST },
    OptionList {
        commands: &["go fmt", "gofmt"],
        style: Style::OneDash,
        plain: "-l -d -s -e -n -x -w -mod=*",
        ..LIST
    },
    OptionList {
        commands: &["zig", "swift", "dotnet", "dune", "cabal", "stack", "mix", "rebar3", "nimble"],
        style: Style::OneDash,
        plain: "-c: -v -q -r: -o: -O* -j* -D* -f: --release --debug --verbose --quiet --configuration: --no-restore \
            --no-build --filter: --filter=* --nologo --verbosity: --framework: --logger=* --trace --only: --max-failures: \
            --parallel --enable-code-coverage --ghc-options=-Wall --enable-tests --fast --pedantic --force --check-formatted \
            --warnings-as-errors --version --help",
        refused: |text| {
            matches!(
                text,
                "run"
                    | "exec"
                    | "script"
                    | "runghc"
                    | "ghci"
                    | "repl"
                    | "cmd"
                    | "do"
                    | "tool"
                    | "eval"
            )
        },
        ..LIST
    },
];
