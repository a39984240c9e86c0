# add: puts a line at the end of the list
add() {
    echo "$1" >>list.txt
}
