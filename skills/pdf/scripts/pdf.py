#!/usr/bin/env python3
"""Reads PDF files using only Python's standard library.

usage: pdf.py info FILE
       pdf.py text FILE [PAGES]          text of the pages, e.g. 1-3,7
       pdf.py pages IN PAGES OUT         some pages as a new file
       pdf.py merge OUT IN IN...         several files as one

Encrypted files are refused. Text comes in file order; scanned pages contain none.
"""
import re
import sys
import zlib

WHITE = b"\0\t\n\f\r "
DELIMITERS = b"()<>[]{}/%"
MOST_STREAM = 256 << 20


class Failure(Exception):
    pass


class Name(str):
    pass


class Word(str):
    """An operator of a content stream."""


class Ref:
    def __init__(self, number):
        self.number = number


class Stream:
    def __init__(self, info, raw):
        self.info, self.raw = info, raw


class Reader:
    """Parses objects from bytes, starting at a position."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def skip(self):
        data = self.data
        while self.at < len(data):
            if data[self.at] in WHITE:
                self.at += 1
            elif data[self.at] == 0x25:  # a comment
                while self.at < len(data) and data[self.at] not in b"\r\n":
                    self.at += 1
            else:
                return True
        return False

    def token(self):
        start = self.at
        while self.at < len(self.data) and self.data[self.at] not in WHITE + DELIMITERS:
            self.at += 1
        if self.at == start:
            self.at += 1
        return self.data[start:self.at].decode("latin-1")

    def value(self, depth=0):
        if not self.skip():
            raise EOFError
        if depth > 100:
            raise Failure("it is nested too deeply")
        data, at = self.data, self.at
        if data[at:at + 2] == b"<<":
            self.at += 2
            return self.dictionary(depth)
        first = data[at]
        if first == 0x2F:
            self.at += 1
            hexed = lambda m: chr(int(m.group(1), 16))
            name = self.token() if self.at < len(data) and data[self.at] not in WHITE + DELIMITERS else ""
            return Name(re.sub(r"#([0-9A-Fa-f]{2})", hexed, name))
        if first == 0x28:
            return self.text()
        if first == 0x3C:
            end = data.find(b">", at)
            end = len(data) if end < 0 else end
            self.at = end + 1
            digits = re.sub(rb"[^0-9A-Fa-f]", b"", data[at + 1:end])
            return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
        if first == 0x5B:
            self.at += 1
            items = []
            while self.skip() and data[self.at] != 0x5D:
                items.append(self.value(depth + 1))
                self.refer(items)
            self.at += 1
            return items
        word = self.token()
        if re.fullmatch(r"[+-]?\d+", word):
            return int(word)
        if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+)", word):
            return float(word)
        return {"true": True, "false": False, "null": None}.get(word, Word(word))

    def refer(self, items):
        """Combines `12 0 R` into one reference."""
        if len(items) > 2 and items[-1] == "R" and isinstance(items[-1], Word) and isinstance(items[-3], int):
            number = items[-3]
            del items[-3:]
            items.append(Ref(number))

    def dictionary(self, depth):
        items = []
        while self.skip() and self.data[self.at:self.at + 2] != b">>":
            items.append(self.value(depth + 1))
            self.refer(items)
        self.at += 2
        pairs = zip(items[::2], items[1::2])
        return {key: value for key, value in pairs if isinstance(key, Name)}

    def text(self):
        data, out, depth = self.data, bytearray(), 1
        self.at += 1
        while self.at < len(data):
            byte = data[self.at]
            self.at += 1
            if byte == 0x5C and self.at < len(data):
                octal = re.match(rb"[0-7]{1,3}", data[self.at:self.at + 3])
                if octal:
                    out.append(int(octal.group(), 8) & 255)
                    self.at += len(octal.group())
                    continue
                after = data[self.at:self.at + 1]
                self.at += 1
                if after == b"\r" and data[self.at:self.at + 1] == b"\n":
                    self.at += 1
                out += {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b""}.get(after, after)
                continue
            depth += {0x28: 1, 0x29: -1}.get(byte, 0)
            if depth == 0:
                break
            out.append(byte)
        return bytes(out)


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if b"%PDF-" not in self.data[:1024]:
            raise Failure(f"{path} is not a PDF file")
        self.objects, self.trailer, self.path = {}, {}, path
        # Scans the file instead of using its xref table, so that damaged files can be read, too.
        for found in re.finditer(rb"(?<![0-9])(\d{1,10})[ \t\r\n]+\d{1,5}[ \t\r\n]+obj\b", self.data):
            self.objects[int(found.group(1))] = found.end()
        for found in re.finditer(rb"\btrailer\b", self.data):
            self.take_trailer(self.read_at(found.end()))
        for number in list(self.objects):
            info = getattr(self.get(Ref(number)), "info", {})
            if info.get("Type") == "XRef":
                self.take_trailer(info)
        if "Encrypt" in self.trailer:
            raise Failure(f"{path} is encrypted; ask the user for a copy without a password")
        for number in list(self.objects):
            stream = self.get(Ref(number))
            if isinstance(stream, Stream) and stream.info.get("Type") == "ObjStm":
                self.unpack(stream)

    def take_trailer(self, found):
        if isinstance(found, dict):
            self.trailer.update({k: v for k, v in found.items() if k in ("Root", "Info", "Encrypt")})

    def read_at(self, at):
        try:
            return Reader(self.data, at).value()
        except (EOFError, ValueError):
            return None

    def unpack(self, stream):
        data, first = self.decoded(stream), self.get(stream.info.get("First"))
        head = Reader(data)
        try:
            pairs = [(head.value(), head.value()) for _ in range(self.get(stream.info.get("N")))]
            for number, at in pairs:
                # Objects outside the object stream are newer.
                if number not in self.objects:
                    self.objects[number] = (Reader(data, first + at).value(),)
        except (EOFError, TypeError):
            pass

    def get(self, value, depth=0):
        if not isinstance(value, Ref) or depth > 20:
            return value
        place = self.objects.get(value.number)
        if isinstance(place, int):
            place = (self.parse(place),)
            self.objects[value.number] = place
        return self.get(place[0], depth + 1) if place else None

    def parse(self, at):
        reader = Reader(self.data, at)
        try:
            value = reader.value()
            items = [value]
            if isinstance(value, int):  # an object that is only a reference
                items += [reader.value(), reader.value()]
                reader.refer(items)
                return items[0] if len(items) == 1 else value
        except (EOFError, ValueError):
            return None
        reader.skip()
        if isinstance(value, dict) and self.data[reader.at:reader.at + 6] == b"stream":
            start = reader.at + 6
            start += 2 if self.data[start:start + 2] == b"\r\n" else 1
            length = self.get(value.get("Length"))
            if not isinstance(length, int) or not re.match(rb"\s*endstream", self.data[start + length:start + length + 20]):
                length = max(self.data.find(b"endstream", start) - start, 0)
            return Stream(value, self.data[start:start + length])
        return value

    def decoded(self, stream):
        filters, options = (self.get(stream.info.get(key)) for key in ("Filter", "DecodeParms"))
        filters = filters if isinstance(filters, list) else [filters] if filters else []
        options = options if isinstance(options, list) else [options]
        data = stream.raw
        for at, name in enumerate(filters):
            name, option = self.get(name), self.get(options[at]) if at < len(options) else None
            if name in ("FlateDecode", "Fl"):
                data = unpredicted(inflated(data), option or {})
            elif name in ("ASCIIHexDecode", "AHx"):
                data = Reader(b"<" + data.split(b">")[0] + b">").value()
            elif name in ("ASCII85Decode", "A85"):
                data = ascii85(data)
            else:
                raise Failure(f"a stream is compressed with {name}, which this script does not support")
        return data

    def pages(self):
        root = self.get(self.trailer.get("Root"))
        if not isinstance(root, dict):
            roots = (self.get(Ref(n)) for n in self.objects)
            root = next((o for o in roots if isinstance(o, dict) and o.get("Type") == "Catalog"), {})
        found, seen = [], set()
        stack = [(root.get("Pages"), {})]
        while stack:
            ref, had = stack.pop()
            node = self.get(ref)
            if not isinstance(node, dict) or (isinstance(ref, Ref) and ref.number in seen):
                continue
            seen.add(getattr(ref, "number", None))
            inherited = {k: node[k] for k in ("Resources", "MediaBox", "CropBox", "Rotate") if k in node}
            kids = self.get(node.get("Kids"))
            if isinstance(kids, list):
                stack += [(kid, {**had, **inherited}) for kid in reversed(kids)]
            elif node.get("Type") != "Pages":
                found.append({**had, **node})
        if not found:
            raise Failure(f"{self.path} has no pages that can be found")
        return found

    def content(self, page):
        parts = self.get(page.get("Contents"))
        parts = parts if isinstance(parts, list) else [parts]
        streams = (self.get(part) for part in parts)
        return b"\n".join(self.decoded(s) for s in streams if isinstance(s, Stream))


def inflated(data):
    unpack = zlib.decompressobj()
    try:
        return unpack.decompress(data, MOST_STREAM)
    except zlib.error:
        # The end is damaged; keep what can be decompressed before it.
        unpack, out = zlib.decompressobj(), bytearray()
        try:
            for at in range(0, len(data), 64):
                out += unpack.decompress(data[at:at + 64], MOST_STREAM)
        except zlib.error:
            pass
        return bytes(out)


def unpredicted(data, option):
    if option.get("Predictor", 1) < 10:
        return data
    bits = option.get("Colors", 1) * option.get("BitsPerComponent", 8)
    wide, step = (option.get("Columns", 1) * bits + 7) // 8, max(bits // 8, 1)
    out, above = bytearray(), bytearray(wide)
    for at in range(0, len(data), wide + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + wide].ljust(wide, b"\0"))
        for i in range(wide):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            guess = left + above[i] - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]), (abs(guess - corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, above[i], (left + above[i]) // 2, paeth)[min(kind, 4)]) & 255
        out += row
        above = row
    return bytes(out)


def ascii85(data):
    import base64
    return base64.a85decode(b"".join(data.split(b"~>")[0].split()))


LIGATURES = {"fi": "fi", "fl": "fl", "ff": "ff", "ffi": "ffi", "ffl": "ffl", "space": " ", "hyphen": "-", "quoteright": "’",
             "quoteleft": "‘", "quotedblleft": "“", "quotedblright": "”", "endash": "–", "emdash": "—", "bullet": "•",
             "period": ".", "comma": ",", "colon": ":", "semicolon": ";", "parenleft": "(", "parenright": ")",
             "slash": "/", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
             "eight": "8", "nine": "9", "zero": "0", "quotesingle": "'", "quotedbl": '"', "percent": "%", "plus": "+",
             "equal": "=", "less": "<", "greater": ">", "bracketleft": "[", "bracketright": "]", "underscore": "_",
             "asterisk": "*", "exclam": "!", "question": "?", "at": "@", "numbersign": "#", "dollar": "$",
             "ampersand": "&", "backslash": "\\", "bar": "|", "braceleft": "{", "braceright": "}", "asciitilde": "~",
             "adieresis": "ä", "odieresis": "ö", "udieresis": "ü", "Adieresis": "Ä", "Odieresis": "Ö",
             "Udieresis": "Ü", "germandbls": "ß", "eacute": "é", "egrave": "è", "agrave": "à"}


class Font:
    def __init__(self, file, info):
        info = info if isinstance(info, dict) else {}
        self.wide, self.map = info.get("Subtype") == "Type0", {}
        encoding = file.get(info.get("Encoding"))
        if isinstance(encoding, dict):
            code = 0
            for item in file.get(encoding.get("Differences")) or []:
                if isinstance(item, int):
                    code = item
                elif isinstance(item, Name):
                    self.map[code] = glyph(item)
                    code += 1
        table = file.get(info.get("ToUnicode"))
        if isinstance(table, Stream):
            self.read_map(file.decoded(table))

    def read_map(self, data):
        reader, stack = Reader(data), []
        text = lambda b: b.decode("utf-16-be", "replace")
        try:
            while True:
                item = reader.value()
                if not isinstance(item, Word):
                    stack.append(item)
                    continue
                if item == "endbfchar":
                    for code, to in zip(stack[::2], stack[1::2]):
                        self.map[int.from_bytes(code, "big")] = text(to)
                elif item == "endbfrange":
                    for low, high, to in zip(stack[::3], stack[1::3], stack[2::3]):
                        low, high = (int.from_bytes(code, "big") for code in (low, high))
                        for n in range(min(high - low + 1, 65536)):
                            one = text(to[n]) if isinstance(to, list) and n < len(to) else None
                            if isinstance(to, bytes) and to:
                                one = text((int.from_bytes(to, "big") + n).to_bytes(len(to), "big"))
                            if one is not None:
                                self.map[low + n] = one
                stack = []
        except (EOFError, TypeError, OverflowError, AttributeError):
            pass

    def text(self, data):
        if self.wide:
            codes = (int.from_bytes(data[at:at + 2], "big") for at in range(0, len(data), 2))
            return "".join(self.map.get(code, "\ufffd") for code in codes)
        return "".join(self.map.get(byte) or bytes([byte]).decode("cp1252", "replace") for byte in data)


def glyph(name):
    if name in LIGATURES:
        return LIGATURES[name]
    if re.fullmatch(r"uni[0-9A-Fa-f]{4}", name):
        return chr(int(name[3:], 16))
    return name if len(name) == 1 else ""


def page_text(file, page, depth=0):
    resources = file.get(page.get("Resources")) or {}
    fonts = {k: Font(file, file.get(v)) for k, v in (file.get(resources.get("Font")) or {}).items()}
    data = file.decoded(page["stream"]) if "stream" in page else file.content(page)
    reader, stack, out, font, line = Reader(data), [], [], Font(file, {}), None
    try:
        while True:
            item = reader.value()
            if not isinstance(item, Word):
                stack.append(item)
                continue
            if item == "Tf" and len(stack) > 1:
                font = fonts.get(stack[-2], font)
            elif item in ("Tj", "'", '"') and stack and isinstance(stack[-1], bytes):
                out.append(("\n" if item != "Tj" else "") + font.text(stack[-1]))
            elif item == "TJ" and stack and isinstance(stack[-1], list):
                for part in stack[-1]:
                    gap = isinstance(part, (int, float)) and part < -180
                    out.append(" " if gap else font.text(part) if isinstance(part, bytes) else "")
            elif item in ("Td", "TD") and len(stack) > 1 and isinstance(stack[-1], (int, float)):
                out.append("\n" if abs(stack[-1]) > 0.5 else " " if stack[-2] and stack[-2] > 1 else "")
            elif item == "Tm" and len(stack) > 5 and isinstance(stack[-1], (int, float)):
                out.append("\n" if line is not None and abs(stack[-1] - line) > 0.5 else " ")
                line = stack[-1]
            elif item in ("T*", "ET"):
                out.append("\n")
            elif item == "Do" and stack and depth < 5:
                inner = file.get((file.get(resources.get("XObject")) or {}).get(stack[-1]))
                if isinstance(inner, Stream) and inner.info.get("Subtype") == "Form":
                    out.append(page_text(file, {"Resources": resources, **inner.info, "stream": inner}, depth + 1))
            elif item == "ID":  # an image in the text
                end = re.compile(rb"\sEI\b").search(data, reader.at)
                reader.at = end.end() if end else len(data)
            stack = []
    except EOFError:
        pass
    seen = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "\ufffd", "".join(out))
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in seen.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def chosen(spec, count):
    numbers = []
    for part in spec.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d*))?", part.strip())
        if not match:
            raise Failure(f"{part!r} is not a page range; write 1-3,7")
        low = int(match.group(1))
        high = low if match.group(2) is None else int(match.group(2) or count)
        if not 1 <= low <= high <= count:
            raise Failure(f"{part!r}: the file has {count} pages")
        numbers += range(low, high + 1)
    return [number - 1 for number in numbers]


class Writer:
    """Writes a new file from pages of other files. Streams are copied as they are."""

    def __init__(self):
        self.bodies, self.kids = [None, None], []  # the catalog and the tree of pages come first

    def add(self, file, pages):
        self.file, self.known = file, {}
        for page in pages:
            page = {k: v for k, v in page.items() if k not in ("Parent", "B", "StructParents")}
            number = len(self.bodies) + 1
            self.bodies.append(None)
            self.bodies[number - 1] = self.text({**page, "Type": Name("Page"), "Parent": Raw(b"2 0 R")})
            self.kids.append(number)

    def refer(self, number):
        if number not in self.known:
            self.known[number] = len(self.bodies) + 1
            self.bodies.append(b"null")
            value = self.file.get(Ref(number))
            # A reference back to the old page tree would copy the whole tree.
            if not (isinstance(value, dict) and value.get("Type") in ("Page", "Pages", "Catalog")):
                self.bodies[self.known[number] - 1] = self.text(value)
        return b"%d 0 R" % self.known[number]

    def text(self, value):
        if isinstance(value, Raw):
            return value.text
        if isinstance(value, Ref):
            return self.refer(value.number)
        if isinstance(value, Stream):
            info = {**value.info, "Length": len(value.raw)}
            return self.text(info) + b"\nstream\n" + value.raw + b"\nendstream"
        if isinstance(value, dict):
            pairs = (self.text(Name(k)) + b" " + self.text(v) for k, v in value.items())
            return b"<< " + b" ".join(pairs) + b" >>"
        if isinstance(value, list):
            return b"[ " + b" ".join(self.text(item) for item in value) + b" ]"
        if isinstance(value, Name):
            plain = lambda c: bytes([c]) if 33 <= c <= 126 and c not in DELIMITERS + b"#" else b"#%02X" % c
            return b"/" + b"".join(plain(c) for c in value.encode("latin-1", "replace"))
        if isinstance(value, bytes):
            return b"<" + value.hex().encode() + b">"
        if isinstance(value, bool) or value is None:
            return {True: b"true", False: b"false", None: b"null"}[value]
        return (f"{value:f}".rstrip("0") if isinstance(value, float) else str(value)).encode()

    def save(self, path):
        kids = b" ".join(b"%d 0 R" % kid for kid in self.kids)
        self.bodies[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
        self.bodies[1] = b"<< /Type /Pages /Kids [ %s ] /Count %d >>" % (kids, len(self.kids))
        out, places = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body in enumerate(self.bodies, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        table = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, table)
        with open(path, "xb") as file:
            file.write(out)


class Raw:
    def __init__(self, text):
        self.text = text


def main(args):
    sys.setrecursionlimit(10_000)
    if len(args) == 2 and args[0] == "info":
        file = File(args[1])
        pages = file.pages()
        print(f"pages: {len(pages)}")
        print("size:", " ".join(str(file.get(side)) for side in file.get(pages[0].get("MediaBox")) or []))
        for key, value in (file.get(file.trailer.get("Info")) or {}).items():
            value = file.get(value)
            if isinstance(value, bytes):
                wide = value.startswith(b"\xfe\xff")
                print(f"{key}: {value[2:].decode('utf-16-be', 'replace') if wide else value.decode('latin-1')}")
    elif len(args) in (2, 3) and args[0] == "text":
        file = File(args[1])
        pages = file.pages()
        for at in chosen(args[2] if len(args) > 2 else "1-", len(pages)):
            text = page_text(file, pages[at])
            print(f"--- page {at + 1} ---\n{text or '(no text on this page; it may be a scan)'}")
    elif len(args) == 4 and args[0] == "pages":
        writer, file = Writer(), File(args[1])
        pages = file.pages()
        writer.add(file, [pages[at] for at in chosen(args[2], len(pages))])
        writer.save(args[3])
        print(f"{args[3]}: {len(writer.kids)} pages")
    elif len(args) >= 4 and args[0] == "merge":
        writer = Writer()
        for path in args[2:]:
            file = File(path)
            writer.add(file, file.pages())
        writer.save(args[1])
        print(f"{args[1]}: {len(writer.kids)} pages")
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Failure, OSError) as failure:
        sys.exit(f"pdf.py: {failure}")
