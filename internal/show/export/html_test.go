package export

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"tape/internal/show/display"
	"tape/repo"
)

// attributes returns the attributes that the page may have, by element, with patterns of their values.
func attributes() map[string]map[string]*regexp.Regexp {
	const class, entry, lang = `[a-z0-9 ]+`, `e\d+`, `|zh|ja|ko`
	out := map[string]map[string]*regexp.Regexp{}
	for element, attrs := range map[string]map[string]string{
		"html": {"lang": "en"}, "head": {}, "title": {}, "style": {}, "body": {},
		"meta":   {"charset": "utf-8", "http-equiv": "Content-Security-Policy", "name": `[a-z-]+`, "content": `[^<>"]+`},
		"header": {"class": class}, "footer": {}, "nav": {"aria-label": "Contents"}, "main": {"id": "tape"}, "h1": {"dir": "auto", "lang": lang},
		"section": {"id": `p\d+`, "aria-labelledby": `h\d+`}, "h2": {"id": `h\d+`}, "h3": {}, "h4": {}, "h5": {}, "h6": {},
		"article": {"class": class, "id": entry}, "div": {"class": class, "id": entry, "dir": "auto", "lang": lang},
		"p": {"class": class}, "span": {"class": class, "dir": "auto|ltr", "id": entry, "lang": lang}, "time": {"datetime": `[0-9TZ:-]+`},
		"a":       {"class": class, "href": `#(e\d+|p\d+|tape)|(https?://|mailto:)[!-~]+`, "title": `(?s).*`, "rel": "noopener noreferrer nofollow", "dir": "auto", "lang": lang},
		"details": {"class": class, "id": entry}, "summary": {}, "pre": {"class": class, "lang": lang, "tabindex": "0"}, "code": {},
		"ul": {}, "ol": {"start": `\d+`}, "li": {}, "blockquote": {}, "hr": {}, "br": {}, "img": {"loading": "lazy", "alt": "image/.*", "src": `data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+`}, "em": {}, "strong": {}, "del": {},
		"label": {"class": class}, "input": {"type": "checkbox", "id": "only"}, "button": {"type": "button", "data-copies": "tape resume .*"},
		"table": {"tabindex": "0"}, "thead": {}, "tbody": {}, "tr": {}, "th": {"align": "left|right|center"}, "td": {"align": "left|right|center"},
	} {
		out[element] = map[string]*regexp.Regexp{}
		for key, val := range attrs {
			out[element][key] = regexp.MustCompile(`^(` + val + `)$`)
		}
	}
	return out
}

// checkPage parses a page as a browser does. It reports elements and attributes that are not the
// page's own, markup that a parser must correct, repeated ids and links that lead nowhere. It
// returns the text, without style sheets and the summaries of "more" folds.
func checkPage(t *testing.T, page string) string {
	t.Helper()
	balanced(t, page)
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	known := attributes()
	ids, links := map[string]bool{}, map[string]bool{}
	elements := 0
	var text strings.Builder
	var walk func(n *html.Node, quiet bool)
	walk = func(n *html.Node, quiet bool) {
		switch n.Type {
		case html.ElementNode:
			elements++
			allowed, ok := known[n.Data]
			if !ok {
				t.Errorf("the page has the element %s", n.Data)
			}
			for _, a := range n.Attr {
				if want, ok := allowed[a.Key]; !ok || !want.MatchString(a.Val) {
					t.Errorf("the page has the attribute %s=%q of %s", a.Key, a.Val, n.Data)
				}
				switch {
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("the id %s occurs twice", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				case a.Key == "href" && a.Val[0] == '#':
					links[a.Val[1:]] = true
				}
			}
			quiet = quiet || n.Data == "summary" && strings.Contains(attr(n.Parent, "class"), "more") || n.Data == "style"
		case html.CommentNode:
			t.Errorf("the page has the comment %q", n.Data)
		case html.TextNode:
			if !quiet {
				text.WriteString(strings.ReplaceAll(n.Data, "image: ", "")) // in front of a picture's name
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, quiet)
		}
		if href, err := url.PathUnescape(attr(n, "href")); n.Data == "a" && (n.FirstChild == nil || err != nil || words(n.FirstChild.Data) != words(href)) {
			text.WriteString(href)
		}
	}
	walk(doc, false)
	if tags := strings.Count(page, "</") + strings.Count(page, "<meta ") + strings.Count(page, "<br>") + strings.Count(page, "<hr>") + strings.Count(page, "<img ") + strings.Count(page, "<input "); tags != elements {
		t.Errorf("%d elements, %d tags: the parser corrected something", elements, tags)
	}
	for id := range links {
		if !ids[id] {
			t.Errorf("a link leads to #%s, which is missing", id)
		}
	}
	return text.String()
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// balanced checks that every element is closed where it was opened.
func balanced(t *testing.T, page string) {
	t.Helper()
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) || len(open) > 0 {
				t.Errorf("the page ends with %v open: %v", open, z.Err())
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains([]string{"meta", "br", "hr", "img", "input"}, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> with %v open", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// bare is text without white space, which may differ from what was recorded.
func bare(s string) string { return strings.Join(strings.Fields(s), "") }

// words is text without the characters that Markdown's syntax may use: every ASCII character but letters, and some
// others. Entities are replaced first.
func words(s string) string {
	s = html.UnescapeString(s)
	return strings.Map(func(r rune) rune {
		if r < 0x80 && !unicode.IsLetter(r) || strings.ContainsRune("☐☑…", r) {
			return -1
		}
		return r
	}, s)
}

// Whatever was recorded is on the page as text, and completely.
func TestHTMLIsInert(t *testing.T) {
	for seed := range uint64(100) {
		src, texts := hostileTape(t, rand.New(rand.NewPCG(seed, 1)))
		page := write(t, "html", src)
		text := words(checkPage(t, page))
		for _, s := range texts {
			if want := words(display.Page(strings.TrimRight(s, "\r\n"))); !strings.Contains(text, want) {
				t.Errorf("seed %d: %q is missing on the page: %q", seed, want, s)
			}
		}
		if i, _, shown := display.Unsafe(page, display.KeptInPages); i < len(page) {
			t.Errorf("seed %d: %s is on the page", seed, shown)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A page loads nothing and runs nothing, and says so to the browser.
func TestHTMLIsSelfContained(t *testing.T) {
	r := record(t)
	r.say("user", "hello")
	page := write(t, "html", r.source())
	checkPage(t, page)
	if !strings.Contains(page, `content="default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-`) {
		t.Error("the page has no content security policy")
	}
	for _, external := range []string{"src=", "@import", "url(", "<link", "<script", "http://", "https://"} {
		if strings.Contains(page, external) {
			t.Errorf("the page has %s", external)
		}
	}
}

// Pictures are in the page, except types that browsers do not show safely.
func TestHTMLPictures(t *testing.T) {
	r := record(t)
	png := func(data string) string {
		return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}`, data)
	}
	r.add("message", `{"role":"user","content":[`+png("UE5H")+`,`+png(`" onerror="x`)+`,{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zz4="}]}`, `{}`)
	page := write(t, "html", r.source())
	checkPage(t, page)
	order(t, page, `<img alt="image/png, 3 bytes" src="data:image/png;base64,UE5H" loading="lazy">`, "onerror=", "image/svg+xml")
	if n := strings.Count(page, "<img"); n != 1 {
		t.Errorf("the page has %d pictures, not 1", n)
	}
}

// A call and its result are shown together, whatever was recorded between them, and
// both can be linked to.
func TestHTMLCallWithResult(t *testing.T) {
	r := record(t)
	call := r.call("c1", "c2")
	r.add("event", `{"name":"tick"}`, `{}`)
	r.say("user", "while it runs")
	result := r.results(`{}`, "first answer", "second answer")
	r.call("c3", "c4")
	r.results(`{"call_ids":["c4","c3"],"is_error":["c4"]}`, "fourth", "third")
	r.call("c5")
	r.anchor("later", `{"summary":"next"}`)
	late := r.results(`{"call_ids":["c5"]}`, "fifth")
	r.results(`{}`, "nobody asked")
	page := write(t, "html", r.source())
	checkPage(t, page)
	order(t, page, "tool-c1", fmt.Sprintf(`id="e%d"`, result), "first answer", "tool-c2", "second answer", "tick", "while it runs",
		"tool-c3", "third", "tool-c4", "failed", "fourth", "tool-c5", "no result here", "later",
		"result of <code>tool-c5</code> @8", fmt.Sprintf(`href="#e%d"`, late), "fifth", "result (its call is before this range)", "nobody asked")
	if !strings.Contains(page, fmt.Sprintf(`id="e%d"`, call)) {
		t.Error("the call cannot be linked to")
	}
}

// order checks that texts come in this order.
func order(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, s := range texts {
		i := strings.Index(page, s)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early; the rest of the page:\n%.2000s", s, page)
		}
		page = page[i+len(s):]
	}
}

// A long result is on the page in full, behind a fold.
func TestHTMLLongResult(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d 行\n", i)
	}
	r := record(t)
	r.call("c1")
	r.results(`{}`, long.String())
	r.say("assistant", "```\n"+long.String()+"```\n"+strings.Repeat("\nbehind **it**\n", 30))
	page := write(t, "html", r.source())
	text := checkPage(t, page)
	if n := strings.Count(bare(text), bare(long.String())); n != 2 {
		t.Errorf("the page has the text %d times, not twice", n)
	}
	order(t, page, "line 23 ", "<summary>2976 more lines (", "line 24 ", "line 2999", "line 2999", "</pre>", "more lines", "<strong>it</strong>")
}

// Chinese, Japanese and Korean text is marked as such, so that browsers show the characters that these languages share
// in the right form.
func TestHTMLLanguage(t *testing.T) {
	for text, want := range map[string]string{"数据库": "zh", "データ 数": "ja", "데이터": "ko", "data": "", "Äpfel": "", "…—": ""} {
		if got := language(text); string(got) != ` lang="`+want+`"` {
			t.Errorf("the language of %s is%s, not %q", text, got, want)
		}
	}
}

// Phases without an entry of the wanted kinds stay on the page, and events are folded, not dropped.
func TestHTMLPhasesAndEvents(t *testing.T) {
	r := record(t)
	for i := range 300 {
		r.add("event", fmt.Sprintf(`{"name":"tick","data":{"n":"number-%d."}}`, i), `{}`)
	}
	r.anchor("empty", `{}`)
	r.anchor("last", `{}`)
	r.say("user", "the only message")
	src := r.source()
	page := write(t, "html", src)
	text := checkPage(t, page)
	for i := range 300 {
		if !strings.Contains(text, fmt.Sprintf("number-%d.", i)) {
			t.Errorf("event %d is missing", i)
		}
	}
	order(t, page, "256 events", "tick ×256", "44 events", `id="p2"`, `id="p3"`, "the only message")

	src.Kinds, src.Entries = []string{"message"}, all(r.entries[len(r.entries)-1:])
	page = write(t, "html", src)
	checkPage(t, page)
	order(t, page, "only entries of kind message", `id="p1"`, "No entries of the kinds", `id="p2"`, "No entries of the kinds", `id="p3"`, "the only message")

	src = r.source()
	src.First, src.Last, src.Entries = 2, 2, all(r.entries[301:302])
	page = write(t, "html", src)
	checkPage(t, page)
	order(t, page, "1 phase of 3", "<span class=\"seq\">002</span>")
	if strings.Contains(page, "001") || strings.Contains(page, "003") {
		t.Error("the page has phases outside the range")
	}
}

// A published page has what was said and done, and nothing of the store: events are counted, authors have no address.
func TestHTMLPublished(t *testing.T) {
	r := record(t)
	r.add("event", `{"name":"bookkeeping","data":{"n":"seventeen"}}`, `{}`)
	r.add(repo.KindMessage, `{"role":"user","content":"the question"}`, `{"author":"Ada <ada@example.org>"}`)
	r.add(repo.KindMessage, `{"role":"user","content":"another"}`, `{"author":"<bob@example.org>"}`)
	r.add("event", `{"name":"thinking","data":{"thinking":"a thought"}}`, `{}`)
	r.add(repo.KindMessage, `{"role":"user","content":"taken back"}`, `{"context":false}`)
	r.add(repo.KindMessage, `{"role":"user","content":"for the helper"}`, `{"context":false,"origin":{"fork":"agent-7"}}`)
	r.add(repo.KindMessage, `{"role":"assistant","content":"the answer"}`, `{}`)
	r.anchor("review", `{"n":1}`)
	src := r.source()
	src.Published, src.Omitted = true, func() []string { return []string{"2 files"} }
	page := write(t, "html", src)
	checkPage(t, page)
	order(t, page, ">Prompt<", "the question", "a thought", ">Prompt<", "taken back", ">Task<", "for the helper", ">Agent<", "the answer", "review", "Not in this file: 1 event; 2 files.")
	for _, text := range []string{"bookkeeping", "seventeen", "001", "session/start", "@example.org", "tape main", "start<"} {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

// A call does not hold back the rest of the tape: past a limit it is shown without its result, which says later to
// which call it belongs. A call that was recorded in a message and again in an entry is one call.
func TestHTMLHoldsLittleBack(t *testing.T) {
	const held = 512 // the most items that the conversation holds back; the test has twice as many
	r := record(t)
	r.add("message", `{"role":"assistant","content":"I look","tool_calls":[{"id":"c1","function":{"name":"tool-c1","arguments":"{\"of\":\"c1\"}"}}]}`, `{}`)
	r.call("c1")
	for i := range 2 * held {
		r.say("user", fmt.Sprintf("message %d.", i))
	}
	r.results(`{}`, "at last")
	page := write(t, "html", r.source())
	checkPage(t, page)
	order(t, page, "I look", "tool-c1", "no result here", "message 0.", fmt.Sprintf("message %d.", 2*held-1), `result of <code>tool-c1</code> @2`, "at last")
	if n := strings.Count(page, "tool-c1"); n != 2 || strings.Contains(page, "no calls") {
		t.Errorf("the call is named %d times, not twice, or repeated without its calls", n)
	}
}
