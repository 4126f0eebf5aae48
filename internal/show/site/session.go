package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"tape/internal/show/display"
	"tape/internal/show/export"
)

// How much a page has.
const (
	pageBytes    = 80 << 10  // of entries; a page with more ends before the next prompt or phase
	pageMost     = 95 << 10  // of entries; a page ends before a piece that would exceed it
	listedMost   = 150       // prompts and phases in the contents; with more, each page lists its own
	markdownMost = 400 << 10 // bytes of the Markdown document
	searchBytes  = 200 << 10 // of text of a session that can be searched
)

// Source is a session to publish.
type Source struct {
	Session                 // Put sets the title and the numbers of prompts, pages, files and masked secrets
	Entries export.Source   // can be read several times; secrets are masked already
	Omitted func() []string // what the pages do not show, besides events; called after the entries were read
	Masked  func() int      // how many secrets were masked; called after the entries were read
}

// sessionPages are the pages of a session while they are made.
type sessionPages struct {
	*Site
	x      Session // as it will be in the list
	before Session // as it was in the list
	dir    string  // its folder in the site
	top    export.Top
	fresh  bool // the session is not in the list yet

	page   bytes.Buffer // the entries of the current page
	group  group
	pieces int      // how many were added
	starts []int    // the number of the first piece of each page
	bodies [][]byte // of the pages that are complete
	toc    []tocEntry
	texts  []any        // for the search: [page, entry, text]
	size   int          // bytes in texts
	cut    map[int]bool // pages with texts that were cut
	hidden int          // events that are not shown
	err    error        // of a picture
}

type tocEntry struct {
	page  int
	id    int64
	phase bool
	text  string
}

// Put makes the pages of a session. It replaces the session's earlier pages.
func (s *Site) Put(ctx context.Context, src Source) error {
	before, known := s.lookup(src.Tape)
	p := &sessionPages{Site: s, x: src.Session, dir: path.Join(sessionsDir, src.Folder), before: before, fresh: !known, cut: map[int]bool{}}
	p.x.Files = map[string]int64{}
	err := p.make(ctx, src)
	if err != nil && p.fresh { // otherwise the list still names its files
		for name := range p.x.Files {
			err = errors.Join(err, p.folder.Remove(path.Join(p.dir, name)))
		}
	}
	return err
}

// make writes a session's files, and puts it into the list.
func (p *sessionPages) make(ctx context.Context, src Source) error {
	src.Entries.Prose = once(src.Entries.Prose) // most texts are on two pages
	var err error
	if p.top, err = export.TopOf(ctx, src.Entries); err != nil {
		return err
	}
	p.x.Title = display.Title(p.top.Title, 200)
	options := export.PieceOptions{Picture: p.picture, Whole: func(id int64) string {
		return fmt.Sprintf("%d-whole.html#e%d", len(p.bodies)+1, id)
	}}
	if err := export.Pieces(ctx, src.Entries, p.top, options, p.add); err != nil {
		return err
	}
	p.close()
	if p.err != nil {
		return p.err
	}
	p.x.Pages = len(p.bodies)
	if err := p.whole(ctx, src.Entries); err != nil {
		return err
	}
	if err := p.markdown(ctx, src.Entries); err != nil {
		return err
	}
	p.x.Masked = src.Masked()
	left := src.Omitted()
	if p.hidden > 0 {
		left = append([]string{display.Count(p.hidden, "event", "events") + " between what was said"}, left...)
	}
	for i := range p.bodies {
		if err := p.file(p.name(i+1), p.document(i+1, left)); err != nil {
			return err
		}
	}
	return p.finish()
}

// once renders each text once, as long as all of them together are not too large.
func once(render func(text string, lines int) string) func(text string, lines int) string {
	type key struct {
		text  string
		lines int
	}
	made, left := map[key]string{}, 16<<20
	return func(text string, lines int) string {
		k := key{text, lines}
		out, ok := made[k]
		if !ok {
			out = render(text, lines)
			if size := len(text) + len(out); size <= left {
				made[k], left = out, left-size
			}
		}
		return out
	}
}

// lookup is Find for use while other sessions are put.
func (s *Site) lookup(tape string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Find(tape)
}

// name is the file of a page.
func (p *sessionPages) name(page int) string {
	if page == 1 {
		return indexFile
	}
	return fmt.Sprintf("%d.html", page)
}

func (p *sessionPages) add(piece export.Piece) error {
	size := p.page.Len()
	if size > 0 && (size+len(piece.HTML) > pageMost || size > pageBytes && (piece.Prompt != "" || piece.Phase != nil)) {
		if piece.Cut { // its links still lead to the whole texts of the page before
			old, next := fmt.Sprintf("\"%d-whole.html#e", len(p.bodies)+1), fmt.Sprintf("\"%d-whole.html#e", len(p.bodies)+2)
			piece.HTML = bytes.ReplaceAll(piece.HTML, []byte(old), []byte(next))
		}
		p.close()
	}
	if p.page.Len() == 0 && len(p.starts) == len(p.bodies) {
		p.starts = append(p.starts, p.pieces)
	}
	p.pieces++
	p.group.add(&p.page, piece)
	page := len(p.bodies) + 1
	p.hidden += piece.Hidden
	if piece.Cut {
		p.cut[page] = true
	}
	if piece.Phase != nil {
		p.toc = append(p.toc, tocEntry{page, int64(piece.Phase.Seq), true, piece.Phase.Name})
	}
	if piece.Prompt != "" {
		p.x.Prompts++
		p.toc = append(p.toc, tocEntry{page, piece.Entry, false, piece.Prompt})
	}
	if text := strings.Join(strings.Fields(display.Page(piece.Text)), " "); text != "" && p.size < searchBytes {
		p.size += len(text)
		p.texts = append(p.texts, []any{page, piece.Entry, text})
	}
	return nil
}

// group keeps the pieces of a subagent together.
type group struct{ helper *export.Subagent }

func (g *group) add(page *bytes.Buffer, piece export.Piece) {
	if g.helper != piece.Helper {
		g.end(page)
		if g.helper = piece.Helper; g.helper != nil {
			page.Write(g.helper.Begin())
		}
	}
	page.Write(piece.HTML)
}

func (g *group) end(page *bytes.Buffer) {
	if g.helper != nil {
		page.WriteString(export.HelperEnd)
		g.helper = nil
	}
}

// close ends a page.
func (p *sessionPages) close() {
	p.group.end(&p.page)
	p.bodies = append(p.bodies, bytes.Clone(p.page.Bytes()))
	p.page.Reset()
}

// file writes a file of the session. ErrConflict if a new session would replace a file of others.
func (p *sessionPages) file(name string, data []byte) error {
	at := path.Join(p.dir, name)
	if p.fresh && !strings.HasPrefix(name, "picture-") {
		p.mu.Lock()
		_, err := p.readOurs(at)
		p.mu.Unlock()
		if err != nil {
			return err
		}
	}
	p.x.Files[name] = int64(len(data))
	return p.write(at, data)
}

// picture writes a picture, and returns its address; "" if pages do not show it. p.err keeps the error of a write.
func (p *sessionPages) picture(data string) string {
	head, body, _ := strings.Cut(data, ";base64,")
	media := strings.TrimPrefix(head, "data:")
	raw, err := base64.StdEncoding.DecodeString(body)
	if err != nil || !display.IsShown(media) {
		return ""
	}
	sum := sha256.Sum256(raw)
	name := "picture-" + hex.EncodeToString(sum[:8]) + "." + strings.Replace(strings.TrimPrefix(media, "image/"), "jpeg", "jpg", 1)
	if _, ok := p.x.Files[name]; !ok && p.err == nil {
		p.err = p.file(name, raw)
	}
	return name
}

// whole writes, for each page with texts that were cut, a page with these texts uncut.
func (p *sessionPages) whole(ctx context.Context, src export.Source) error {
	if len(p.cut) == 0 {
		return nil
	}
	var b bytes.Buffer
	var g group
	page, n := 1, 0
	flush := func() error {
		defer b.Reset()
		g.end(&b)
		if !p.cut[page] {
			return nil
		}
		return p.file(fmt.Sprintf("%d-whole.html", page), p.wholeDocument(page, b.Bytes()))
	}
	err := export.Pieces(ctx, src, p.top, export.PieceOptions{Picture: p.picture}, func(piece export.Piece) error {
		if page < len(p.starts) && n == p.starts[page] {
			if err := flush(); err != nil {
				return err
			}
			page++
		}
		n++
		if p.cut[page] {
			g.add(&b, piece)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// markdown writes the session as a Markdown document, which git hosts show with the folder.
func (p *sessionPages) markdown(ctx context.Context, src export.Source) error {
	f, _ := export.Find("markdown")
	src.Published = true
	b := bytes.NewBufferString("<!-- " + madeBy + " -->\n")
	limited := &limitedWriter{b: b, left: markdownMost}
	if err := f.Write(ctx, limited, src); err != nil && !limited.full {
		return err
	}
	doc := b.Bytes()
	if limited.full {
		if i := bytes.LastIndex(doc, []byte("\n### ")); i > 0 {
			doc = doc[:i+1]
		}
		open := bytes.Count(doc, []byte("\n"+export.FoldBegins)) - bytes.Count(doc, []byte("\n"+export.FoldEnds+"\n"))
		doc = append(doc, strings.Repeat("\n"+export.FoldEnds+"\n", max(0, open))...)
		doc = append(doc, "\nThe rest is in the [pages](index.html) beside this file.\n"...)
	}
	return p.file(readmeFile, doc)
}

// limitedWriter keeps the beginning of a document.
type limitedWriter struct {
	b    *bytes.Buffer
	left int
	full bool
}

var errFull = errors.New("the document is long enough")

func (w *limitedWriter) Write(data []byte) (int, error) {
	if w.full = w.full || len(data) > w.left; w.full {
		return 0, errFull
	}
	w.left -= len(data)
	return w.b.Write(data)
}

// finish removes files that the session no longer has, and puts the session into the list.
func (p *sessionPages) finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.before.Files {
		if _, ok := p.x.Files[name]; !ok {
			if err := p.folder.Remove(path.Join(sessionsDir, p.before.Folder, name)); err != nil {
				return err
			}
		}
	}
	line, err := textLine(p.x, p.texts)
	if err != nil {
		return err
	}
	p.Site.texts[p.x.Folder] = line
	p.put(p.x)
	return nil
}
