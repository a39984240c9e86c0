# drop: removes the line with this number
drop() {
    sed -i "$1d" list.txt
}
