# show: prints the line with this number
show() {
    sed -n "$1p" list.txt
}
