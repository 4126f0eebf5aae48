package web

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
	"github.com/yuin/goldmark/renderer"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"tape/internal/show/display"
)

const (
	proseMost = 64 << 10 // bytes of a message that are read as Markdown
	nameMost  = 60       // bytes of a language's or file's name: all patterns are tried on it
	depthMost = 40       // elements of Markdown in each other
	codeMost  = 32 << 10 // bytes of code that are coloured
)

// prose shows Markdown and code.
type prose struct {
	md   goldmark.Markdown
	code *chromahtml.Formatter
}

func newProse() *prose {
	p := &prose{code: chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))}
	p.md = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	p.md.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(p, 100)))
	return p
}

// RegisterFuncs takes links, images, headings and code over from goldmark.
func (p *prose) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, picture)
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindFencedCodeBlock, p.fenced)
}

// markdown is a message as a page shows it.
func (p *prose) markdown(text string) template.HTML {
	text = display.Safe(text, "\n\t\u200c\u200d")
	plain := len(text) > proseMost
	var b bytes.Buffer
	if !plain {
		doc := p.md.Parser().Parse(gtext.NewReader([]byte(text)))
		plain = deep(doc) || p.md.Renderer().Render(&b, []byte(text), doc) != nil
	}
	if plain {
		return template.HTML(`<pre tabindex="0">` + shown(text) + "</pre>") //nolint:gosec // escaped
	}
	return template.HTML(b.String()) //nolint:gosec // goldmark escapes, raw HTML is shown as text
}

// deep reports whether something is so deep within other things that a browser would take
// seconds to lay it out.
func deep(doc ast.Node) bool {
	depth, most := 0, 0
	_ = ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) { // it has no error but ours
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		most = max(most, depth)
		return ast.WalkContinue, nil
	})
	return most > depthMost
}

// shown is text, escaped, without characters that do anything else than to be seen.
func shown(s string) string { return template.HTMLEscapeString(display.Safe(s, "\n\t\u200c\u200d")) }

// toWeb reports whether a link leads to the web, and not into this program.
func toWeb(dest []byte) bool {
	l := strings.ToLower(string(dest))
	return strings.HasPrefix(l, "https://") || strings.HasPrefix(l, "http://") || strings.HasPrefix(l, "mailto:")
}

func anchor(w util.BufWriter, dest []byte) {
	fmt.Fprint(w, `<a rel="noreferrer noopener" href="`+shown(string(util.URLEscape(dest, true)))+`">`)
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := n.(*ast.Link).Destination
	switch {
	case !toWeb(dest):
	case entering:
		anchor(w, dest)
	default:
		fmt.Fprint(w, "</a>")
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if a := n.(*ast.AutoLink); entering && toWeb(a.URL(src)) {
		anchor(w, a.URL(src))
		fmt.Fprint(w, shown(string(a.Label(src)))+"</a>")
	} else if entering {
		fmt.Fprint(w, shown(string(a.Label(src))))
	}
	return ast.WalkContinue, nil
}

// picture is a link: nothing is loaded from elsewhere.
func picture(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := n.(*ast.Image).Destination
	if entering && toWeb(dest) {
		anchor(w, dest)
		fmt.Fprint(w, "image: ")
	} else if entering {
		fmt.Fprint(w, "image: ")
	} else if toWeb(dest) {
		fmt.Fprint(w, "</a>")
	}
	return ast.WalkContinue, nil
}

func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := string(rune('0' + min(6, n.(*ast.Heading).Level+2))) // below those of the page
	if entering {
		fmt.Fprint(w, "<h"+level+">")
	} else {
		fmt.Fprint(w, "</h"+level+">\n")
	}
	return ast.WalkContinue, nil
}

func rawHTML(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if segs := n.(*ast.RawHTML).Segments; entering {
		for i := range segs.Len() {
			seg := segs.At(i)
			fmt.Fprint(w, shown(string(seg.Value(src))))
		}
	}
	return ast.WalkSkipChildren, nil
}

func htmlBlock(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	b := n.(*ast.HTMLBlock)
	if entering {
		text := string(b.Lines().Value(src))
		if b.HasClosure() {
			text += string(b.ClosureLine.Value(src))
		}
		fmt.Fprint(w, "<pre tabindex=\"0\">"+shown(text)+"</pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (p *prose) fenced(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if b := n.(*ast.FencedCodeBlock); entering {
		fmt.Fprint(w, string(p.coloured(string(b.Lines().Value(src)), string(b.Language(src)))))
	}
	return ast.WalkSkipChildren, nil
}

// coloured is code in a language, which may be the name of a file.
func (p *prose) coloured(text, language string) template.HTML {
	text = display.Safe(text, "\n\t\u200c\u200d")
	plain := template.HTML(`<pre class="code" tabindex="0"><code>` + template.HTMLEscapeString(text) + "</code></pre>\n") //nolint:gosec // escaped
	language = path.Base(language)
	if len(language) > nameMost || len(text) > codeMost {
		return plain
	}
	l := lexers.Get(language)
	if l == nil {
		l = lexers.Match(language)
	}
	if l == nil {
		return plain
	}
	var b bytes.Buffer
	tokens, err := chroma.Coalesce(l).Tokenise(nil, text)
	if err != nil || p.code.Format(&b, styles.Fallback, tokens) != nil {
		return plain
	}
	return template.HTML(`<pre class="code" tabindex="0"><code>` + b.String() + "</code></pre>\n") //nolint:gosec // chroma escapes
}
