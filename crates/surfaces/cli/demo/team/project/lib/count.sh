# count: prints how many lines contain a word
count() {
    grep -c -F -- "$1" list.txt
}
