# find: prints the lines that contain a word
find() {
    grep -F -- "$1" list.txt
}
