package export

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"tape/internal/show/display"
	"tape/repo"
)

// Recorded text stays in its quotes and fences: every line outside of them has a form that the
// document itself writes.
func TestMarkdownIsInert(t *testing.T) {
	own := regexp.MustCompile(`^(|#{1,3} .*|> ?.*|\S.* · .*|.*:|\*[0-9,]+ .*(: ` + "`tape show @[0-9]+ --json`" + `)?\*|` +
		`<details><summary>(<b>[^<>]*</b>)?[^<>]*</summary>|</details>|No entries of the kinds that were asked for\.)$`)
	for seed := range uint64(200) {
		src, _ := hostileTape(t, rand.New(rand.NewPCG(seed, 2)))
		src.Published = seed%2 == 1
		doc := write(t, "markdown", src)
		if i, _, shown := display.Unsafe(doc, display.KeptInPages); i < len(doc) {
			t.Errorf("seed %d: %s is in the document", seed, shown)
		}
		fence := ""
		for l := range strings.SplitSeq(strings.TrimSuffix(doc, "\n"), "\n") {
			switch {
			case fence != "":
				if l == fence {
					fence = ""
				}
			case strings.HasPrefix(l, "```"):
				fence = strings.TrimSuffix(l, "diff")
			case !own.MatchString(l):
				t.Errorf("seed %d: recorded text is outside of quotes and fences: %q", seed, l)
			}
		}
		if fence != "" {
			t.Errorf("seed %d: the last fence is open", seed)
		}
		if t.Failed() {
			break
		}
	}
}

// A published document reads like a published page: calls and thoughts are folded, and nothing of the store is in it.
func TestMarkdownPublished(t *testing.T) {
	r := record(t)
	r.add("event", `{"name":"bookkeeping","data":{"n":"seventeen"}}`, `{}`)
	r.add(repo.KindMessage, `{"role":"user","content":"the question"}`, `{"author":"Ada <ada@example.org>"}`)
	r.add("event", `{"name":"thinking","data":{"thinking":"a <b> thought"}}`, `{}`)
	r.add("tool_call", `{"calls":[{"id":"1","name":"Edit","input":{"file_path":"a.go","old_string":"one","new_string":"two"}}]}`, `{}`)
	r.add("tool_result", `{"results":["done"]}`, `{}`)
	r.add("tool_call", `{"calls":[{"id":"2","name":"Bash","input":{"command":"go test ./..."}}]}`, `{}`)
	r.add(repo.KindMessage, `{"role":"assistant","content":"the answer"}`, `{}`)
	r.anchor("review", `{"n":1}`)
	src := r.source()
	src.Published = true
	doc := write(t, "markdown", src)
	order(t, doc, "### Prompt · @", " · Ada · ", "> the question", "<details><summary><b>thinking</b> a &lt;b&gt; thought</summary>", "</details>",
		"<details><summary><b>Edit</b> a.go +1 −1</summary>", "```diff\n- one\n+ two\n```", "result:", "done", "</details>",
		"<b>Run</b> go test ./... · no result</summary>", "$ go test ./...", "</details>", "### Agent · @", "> the answer", "\n## review\n")
	for _, text := range []string{"bookkeeping", "seventeen", "001", "session/start", "@example.org", "tape main", "tape show"} {
		if strings.Contains(doc, text) {
			t.Errorf("the document has %q", text)
		}
	}
}

// cmark-gfm, which git hosts use to show Markdown, makes no harmful element of recorded text,
// even if HTML is allowed. The test is skipped if it is not installed.
func TestMarkdownRendered(t *testing.T) {
	program, err := exec.LookPath("cmark-gfm")
	if err != nil {
		t.Skip("there is no cmark-gfm")
	}
	for seed := range uint64(50) {
		src, _ := hostileTape(t, rand.New(rand.NewPCG(seed, 3)))
		src.Published = seed%2 == 1
		doc := write(t, "markdown", src)
		page := rendered(t, program, doc)
		counts := map[string]int{}
		inspect(t, page, counts)
		if counts["h1"] != 1 || counts["h2"] != len(src.Phases) || counts["script"]+counts["img"]+counts["style"] > 0 {
			t.Errorf("the elements are %v, not 1 h1, %d h2 and no script, img or style", counts, len(src.Phases))
		}
		if n := strings.Count(doc, "\n<details><summary>"); counts["details"] != n || counts["summary"] != n {
			t.Errorf("%d folds, not %d", counts["details"], n)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, doc)
		}
	}
}

func rendered(t *testing.T, program, doc string) *html.Node {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tasklist", "-e", "footnotes")
	cmd.Stdin = strings.NewReader(doc)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// inspect counts elements, and reports those that Markdown does not make of text.
func inspect(t *testing.T, n *html.Node, counts map[string]int) {
	const elements = " html head body h1 h2 h3 h4 h5 h6 p blockquote pre code em strong del a ul ol li hr br table thead tbody tr th td details summary input "
	if n.Type == html.CommentNode {
		t.Errorf("comment %q", n.Data)
	}
	if n.Type == html.ElementNode {
		counts[n.Data]++
		if !strings.Contains(elements, " "+n.Data+" ") {
			t.Errorf("element %s", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "href" && regexp.MustCompile(`^(https?://|mailto:)`).MatchString(a.Val):
			case a.Key == "class" && strings.HasPrefix(a.Val, "language-"), a.Key == "lang", a.Key == "align", a.Key == "start":
			case n.Data == "input":
			default:
				t.Errorf("attribute %s=%q of %s", a.Key, a.Val, n.Data)
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		inspect(t, c, counts)
	}
}

// Markdown in a message is still Markdown.
func TestMarkdownProse(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"plain", "> plain"},
		{"two\nlines\n\nand more", "> two  \n> lines\n>\n> and more"},
		{"- a\n  - b\n1. c", "> - a\n>   - b\n> 1. c"},
		{"# One\n## Two\n#### Four\n- # Five", "> #### One\n> ##### Two\n> ###### Four\n> - \\# Five"},
		{"Title\n===\nTitle\n---", "> Title\n> \\===\n> Title\n> \\---"},
		{"**bold** `Vec<T>` <b>&amp;", "> **bold** `Vec<T>` &lt;b>&amp;amp;"},
		{"  ```go\n  x := `a`\n  ````\nafter", "> ```go\n> x := `a`\n> ```\n> after"},
		{"```mermaid\ngraph\n```", "> ```\n> graph\n> ```"},
		{"```\n````\n```` x", "> ```\n> ```\n> ```x\n> ```"},
		{"~~~ sh\n```\n~~~", "> ````sh\n> ```\n> ````"},
		{"```\nopen", "> ```\n> open\n> ```"},
		{"- ```\n  <b>", "> - \\`\\`\\`\n>   &lt;b>"},
		{"| a | b |\n|---|---|\n| `x<y` | `a|<b` |", "> | a | b |\n> |---|---|\n> | `x<y` | \\`a|&lt;b\\` |"},
		{"[a](https://a.example) [b](javascript:1) ![c](https://c.example)\n[d]: https://d.example", "> [a](https://a.example) [b\\](javascript:1) \\![c](https://c.example)  \n> [d\\]: https://d.example"},
		{"http://a.example/`<b>`", "> http://a.example/\\`&lt;b>\\`"},
		{"cost $5 and $6 ~~~", "> cost \\$5 and \\$6 \\~~~"},
		{"\\`<b>` and \\<b>", "> \\\\`<b>` and \\\\&lt;b>"},
		{"\x1b[31m\u202e", "> &lt;U+202E>"},
		{"[!WARNING]\nboo", "> \\[!WARNING]  \n> boo"},
	} {
		r := record(t)
		r.say("user", c.in)
		doc := write(t, "markdown", r.source())
		_, got, _ := strings.Cut(doc, "### user · @2 · 2026-11-20 09:30\n\n")
		if got != c.out+"\n" {
			t.Errorf("%q:\n%s\nnot\n%s", c.in, got, c.out)
		}
	}
}

// A document has the phases, the handoffs, each call with its result, the commands that show
// shortened text, and says which entries were hidden.
func TestMarkdownDocument(t *testing.T) {
	r := record(t)
	r.say("user", "please")
	r.call("c1", "c2")
	r.add("event", `{"name":"run","data":{"usage":{"input_tokens":7}}}`, `{}`)
	r.results(`{"is_error":["c2"]}`, strings.Repeat("row\n", 100)+"last", "```\ntext\n```")
	r.add("message", `{"role":"assistant","content":"dropped"}`, `{"context":false}`)
	r.add("error", `{"kind":"net","message":"no route","details":{"tries":3}}`, `{}`)
	r.anchor("review", `{"summary":"Endpoint added.","files":["a.go"]}`)
	doc := write(t, "markdown", r.source())
	order(t, doc, "# please\n\ntape main · 2 phases · 8 entries · 2026-11-20 09:30 to 09:30 · times are UTC\n",
		"\n## 001 session/start\n\n7 entries · @1 to @7 · 2026-11-20 09:00 · tag anchor/main/session/start · commit c0ffeec0ff\n",
		"\nstate:\n\n```\nowner: human\n```\n", "\n> please\n",
		"\n### call of `tool-c1` · @3 · 2026-11-20 09:30\n\n```\nof: c1\n```\n\nresult · @5 · 2026-11-20 09:30\n\n```\nrow\n",
		"\n*71 more lines (284 bytes): `tape show @5 --tape main --json`*\n",
		"\n### call of `tool-c2` · @3 ", "\nresult, failed · @5 ", "\n````\n```\ntext\n```\n````\n",
		"\n<details><summary>1 event: run</summary>\n\n```\n@4 2026-11-20 09:30 run  usage: {\"input_tokens\":7}\n```\n\n</details>\n",
		"\n### assistant · @6 · 2026-11-20 09:30 · not in context\n\n> dropped\n",
		"\n### error · @7 ", "\n> net: no route\n\ndetails:\n\n```\ndetails: {\"tries\":3}\n```\n",
		"\n## 002 review\n", "\n> Endpoint added.\n\nstate:\n\n```\nfiles: [\"a.go\"]\n```\n")
}

// A result of many megabytes makes a document of some kilobytes.
func TestMarkdownShortens(t *testing.T) {
	r := record(t)
	r.call("c1")
	r.results(`{}`, strings.Repeat("x", 10<<20))
	doc := write(t, "markdown", r.source())
	if len(doc) > 6000 {
		t.Errorf("the document has %d bytes, not at most 6000", len(doc))
	}
	order(t, doc, fmt.Sprintf("\n*10.0 MiB more: `tape show @%d --tape main --json`*\n", 3))
}
