"""What a page of HTML has: tags, ids, links, loaded files, words, and whether its tags match."""

import html.parser

VOID = ("meta", "br", "input", "link", "img", "hr", "path", "use", "rect")
LOADED_LINKS = ("stylesheet", "preload", "icon", "shortcut icon")


class Tags(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.wrong, self.words = [], [], [], []
        self.ids, self.links, self.loaded, self.headings, self.pictures = [], [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.tags.append((tag, tuple(sorted(values))))
        self.ids += filter(None, (values.get("id"), values.get("name") if tag == "a" else None))
        self.links += [values["href"]] if tag == "a" and values.get("href") else []
        loads = [values.get(name) for name in ("src", "xlink:href", "action", "data")]
        loads += [values["href"]] if tag == "link" and values.get("rel") in LOADED_LINKS else []
        self.loaded += [one for one in loads if one and not one.startswith(("#", "data:text/csv"))]
        self.headings += [int(tag[1])] if tag in ("h1", "h2", "h3", "h4", "h5", "h6") else []
        self.pictures += [(values.get("src"), values.get("alt"))] if tag == "img" else []

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words.append(data)
