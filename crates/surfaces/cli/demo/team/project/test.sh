# Each command still works, and how many of them refuse a missing argument.
cd "$(dirname "$0")" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in lib/*.sh; do . "./$file"; done
cd "$work" || exit 1
add "b 1" && add "a 2" && [ "$(show 1)" = "b 1" ] && [ "$(find a)" = "a 2" ] || { echo "FAILED: add, show or find"; exit 1; }
[ "$(sort_by 1 | head -1)" = "a 2" ] && [ "$(count 1)" = 1 ] || { echo "FAILED: sort_by or count"; exit 1; }
drop 1 && [ "$(cat list.txt)" = "a 2" ] || { echo "FAILED: drop"; exit 1; }
checked=0
for command in add show drop find sort_by count; do
    ($command </dev/null >/dev/null 2>&1)
    [ $? = 64 ] && checked=$((checked + 1))
done
echo "ok: every command works, $checked of 6 check their arguments"
