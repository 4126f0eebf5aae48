// Package prose renders messages, which are Markdown, as HTML, and code in colours.
//
// Recorded text is hostile: HTML in it stays text, links lead only to the web or a mail program,
// and pictures become links. No text is lost: other links show their destination, and definitions
// of links stay text.
package prose

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/alecthomas/chroma/v2/styles"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"tape/internal/show/block"
	"tape/internal/show/display"
)

const (
	maxMarkdown = 64 << 10 // bytes; longer text is not parsed as Markdown
	maxName     = 60       // bytes of a language's or file's name: each lexer's patterns are tried on it
	maxDepth    = 40       // nesting of Markdown
	maxLinks    = 1000     // beginnings of links: the parser searches for the end of each
	maxCode     = 32 << 10 // bytes of code that are coloured
)

// Renderer shows Markdown and code.
type Renderer struct {
	md   goldmark.Markdown
	code *chromahtml.Formatter
}

// New makes a renderer.
func New() *Renderer {
	r := &Renderer{code: chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))}
	// Not parsed are definitions of links, which would vanish from the text, and underlined headings
	// (the first block parser): people who write such a line mean a rule.
	blocks := parser.DefaultBlockParsers()[1:]
	r.md = goldmark.New(
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(formulas{}, 50))...))),
		goldmark.WithExtensions(extension.Table, extension.Strikethrough,
			extension.TaskList, extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}))),
		goldmark.WithRendererOptions(html.WithHardWraps()))
	r.md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{r}, 100)))
	return r
}

// HTML returns the HTML of a text, with nothing folded.
func (r *Renderer) HTML(text string) template.HTML {
	return template.HTML(r.Folded(text, 0)) //nolint:gosec // goldmark escapes, raw HTML is shown as text
}

// Folded returns the HTML of a text. It folds what comes after the given number of lines, from the next block on,
// unless that is short; 0 folds nothing.
func (r *Renderer) Folded(text string, lines int) string {
	text = display.Page(text)
	var b bytes.Buffer
	if len(text) > maxMarkdown || costly(text) || !r.markdown(&b, []byte(text), lines) {
		return plain(text, lines)
	}
	return b.String()
}

// markdown renders a text as Markdown. It reports false if that is too expensive or fails.
func (r *Renderer) markdown(b *bytes.Buffer, src []byte, lines int) bool {
	doc := r.md.Parser().Parse(gtext.NewReader(src))
	if deep(doc) {
		return false
	}
	folded := false
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if rest := src[start(n):]; lines > 0 && !folded && foldable(src, rest, lines) {
			folded = true
			more(b, string(rest))
		}
		if r.md.Renderer().Render(b, src, n) != nil {
			return false
		}
	}
	if folded {
		b.WriteString("</details>\n")
	}
	return true
}

// start is where the text of a block begins; 0 if it has none.
func start(n ast.Node) int {
	for ; n != nil && n.Type() == ast.TypeBlock; n = n.FirstChild() {
		if lines := n.Lines(); lines.Len() > 0 {
			return lines.At(0).Start
		}
	}
	return 0
}

// foldable reports whether the rest begins after the first lines, and is long enough to be folded.
func foldable(src, rest []byte, lines int) bool {
	newline := []byte("\n")
	return bytes.Count(src[:len(src)-len(rest)], newline) >= lines && bytes.Count(rest, newline) >= lines/4
}

func plain(text string, lines int) string {
	var b bytes.Buffer
	head, rest := text, ""
	if lines > 0 {
		const lineBytes = 400 // a longer line counts as several
		head, rest = display.Cut(text, lines, lines*lineBytes)
	}
	b.WriteString("<pre tabindex=\"0\">\n" + block.Escape(head) + "</pre>\n")
	if rest != "" {
		more(&b, rest)
		b.WriteString("<pre tabindex=\"0\">\n" + block.Escape(rest) + "</pre>\n</details>\n")
	}
	return b.String()
}

// more opens the fold around the rest of a text.
func more(b *bytes.Buffer, rest string) {
	b.WriteString(`<details class="more"><summary>` + block.Escape(display.Amount(rest)) + "</summary>\n")
}

// costly reports whether parsing a text as Markdown might take seconds.
func costly(text string) bool {
	if strings.Count(text, "](") > maxLinks {
		return true
	}
	for line := range strings.Lines(text) {
		markers := line[:len(line)-len(strings.TrimLeft(line, "> \t-+*.)0123456789"))]
		if strings.Count(markers, ">")+strings.Count(markers, "- ")+strings.Count(markers, "+ ")+strings.Count(markers, "* ")+
			strings.Count(markers, ". ")+strings.Count(markers, ") ") > maxDepth {
			return true
		}
	}
	return false
}

// deep reports whether elements are nested so deeply that a browser might take seconds to lay
// them out.
func deep(doc ast.Node) bool {
	depth, most := 0, 0
	_ = ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) { // returns only our errors
		if entering {
			depth++
			most = max(most, depth)
		} else {
			depth--
		}
		return ast.WalkContinue, nil
	})
	return most > maxDepth
}

// Code returns code as HTML, in the colours of a language. language may be the name of a file.
func (r *Renderer) Code(text, language string) template.HTML {
	text = display.Page(text)
	return template.HTML(`<pre class="code" tabindex="0"><code>` + r.tokens(text, path.Base(language)) + "</code></pre>\n") //nolint:gosec // tokens escapes
}

func (r *Renderer) tokens(text, language string) string {
	plain := template.HTMLEscapeString(text)
	if language == "." || len(language) > maxName || len(text) > maxCode { // path.Base of nothing is a dot
		return plain
	}
	l := lexers.Get(language)
	if l == nil {
		return plain
	}
	tokens, err := chroma.Coalesce(l).Tokenise(nil, text)
	var b bytes.Buffer
	if err != nil || r.code.Format(&b, styles.Fallback, tokens) != nil {
		return plain
	}
	return b.String()
}

func put(w util.BufWriter, s string) { fmt.Fprint(w, s) }
