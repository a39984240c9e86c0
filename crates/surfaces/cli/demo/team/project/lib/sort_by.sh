# sort_by: prints the list sorted by the column with this number
sort_by() {
    sort -k "$1" list.txt
}
