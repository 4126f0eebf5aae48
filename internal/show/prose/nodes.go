package prose

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"tape/internal/show/block"
)

// nodes renders the nodes for which goldmark's HTML is not what pages need.
type nodes struct{ *Renderer }

// RegisterFuncs registers links, pictures, headings, HTML, code, checkboxes, tables and their cells.
func (n nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, link)
	r.Register(ast.KindAutoLink, autoLink)
	r.Register(ast.KindImage, picture)
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindRawHTML, rawHTML)
	r.Register(ast.KindHTMLBlock, htmlBlock)
	r.Register(ast.KindFencedCodeBlock, n.fenced)
	r.Register(ast.KindCodeBlock, n.indented)
	r.Register(extast.KindTaskCheckBox, checkbox)
	r.Register(extast.KindTable, table)
	r.Register(extast.KindTableCell, cell)
}

// isLink reports whether a node becomes a link: to the web or a mail program, not to this page's
// server, and not inside another link.
func isLink(n ast.Node, dest []byte) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink || p.Kind() == ast.KindImage {
			return false
		}
	}
	l := strings.ToLower(string(dest))
	return strings.HasPrefix(l, "https://") || strings.HasPrefix(l, "http://") || strings.HasPrefix(l, "mailto:")
}

func anchor(w util.BufWriter, dest, title []byte) {
	put(w, `<a rel="noopener noreferrer nofollow" href="`+block.Escape(string(util.URLEscape(dest, true)))+`"`)
	if len(title) > 0 {
		put(w, ` title="`+block.Escape(string(title))+`"`)
	}
	put(w, ">")
}

// endLink ends a link, or shows the destination if the node does not become a link.
func endLink(w util.BufWriter, n ast.Node, dest, title []byte) {
	switch {
	case isLink(n, dest):
		put(w, "</a>")
	case len(title) > 0:
		put(w, " ("+block.Escape(string(dest)+" "+string(title))+")")
	default:
		put(w, " ("+block.Escape(string(dest))+")")
	}
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	l := n.(*ast.Link)
	if !entering {
		endLink(w, n, l.Destination, l.Title)
	} else if isLink(n, l.Destination) {
		anchor(w, l.Destination, l.Title)
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	a := n.(*ast.AutoLink)
	dest, label := a.URL(src), block.Escape(string(a.Label(src)))
	if a.AutoLinkType == ast.AutoLinkEmail {
		dest = append([]byte("mailto:"), dest...)
	}
	if !isLink(n, dest) {
		put(w, label)
		return ast.WalkContinue, nil
	}
	anchor(w, dest, nil)
	put(w, label+"</a>")
	return ast.WalkContinue, nil
}

// picture renders a picture as a link, so that the page loads nothing from elsewhere.
func picture(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	p := n.(*ast.Image)
	if !entering {
		endLink(w, n, p.Destination, p.Title)
		return ast.WalkContinue, nil
	}
	if isLink(n, p.Destination) {
		anchor(w, p.Destination, p.Title)
	}
	put(w, "image: ")
	return ast.WalkContinue, nil
}

func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := string(rune('0' + min(6, n.(*ast.Heading).Level+2))) // below the page's own headings
	if entering {
		put(w, "<h"+level+">")
	} else {
		put(w, "</h"+level+">\n")
	}
	return ast.WalkContinue, nil
}

func rawHTML(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if segs := n.(*ast.RawHTML).Segments; entering {
		for i := range segs.Len() {
			seg := segs.At(i)
			put(w, block.Escape(string(seg.Value(src))))
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
		put(w, "<pre tabindex=\"0\">\n"+block.Escape(text)+"</pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

// fenced renders a block of code, with the info string of its fence, such as its language, above it.
func (n nodes) fenced(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if b := node.(*ast.FencedCodeBlock); entering {
		if b.Info != nil {
			put(w, `<p class="info">`+block.Escape(string(b.Info.Value(src)))+"</p>\n")
		}
		put(w, string(n.Code(string(b.Lines().Value(src)), string(b.Language(src)))))
	}
	return ast.WalkSkipChildren, nil
}

func (n nodes) indented(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		put(w, string(n.Code(string(node.Lines().Value(src)), "")))
	}
	return ast.WalkSkipChildren, nil
}

func checkbox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering && n.(*extast.TaskCheckBox).IsChecked {
		put(w, "☑ ")
	} else if entering {
		put(w, "☐ ")
	}
	return ast.WalkContinue, nil
}

// table renders a table. It can have the focus, so that a wide one can be scrolled with the keyboard.
func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		put(w, "<table tabindex=\"0\">\n")
	} else {
		put(w, "</table>\n")
	}
	return ast.WalkContinue, nil
}

// cell renders a cell of a table. The last cell of a row also gets the text beyond the last column,
// which goldmark drops.
func cell(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	c, tag := n.(*extast.TableCell), "td"
	if n.Parent().Kind() == extast.KindTableHeader {
		tag = "th"
	}
	if entering {
		put(w, "<"+tag)
		if c.Alignment != extast.AlignNone {
			put(w, ` align="`+c.Alignment.String()+`"`)
		}
		put(w, ">")
		return ast.WalkContinue, nil
	}
	if lines := n.Lines(); n.NextSibling() == nil && lines.Len() > 0 {
		rest, _, _ := bytes.Cut(src[lines.At(0).Stop:], []byte("\n"))
		if text := strings.Trim(string(rest), " \t|"); text != "" {
			put(w, " | "+block.Escape(text))
		}
	}
	put(w, "</"+tag+">\n")
	return ast.WalkContinue, nil
}
