package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/sessions/catalog"
	"tape/internal/sessions/importer"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/store/about"
	"tape/repo"
	"tape/repo/view"
)

// A page has one window of entries; page.js keeps at most four.
const (
	windowSize = 100
	headBytes  = 50_000 // of the overview and the turns; if they are larger, page.js loads them later
	around     = 40     // entries read before and after a window, for calls with results beyond it
)

type sessionPage struct {
	Tape        string
	About       about.Tape
	Info        repo.Info
	Parent      string // of a fork or a subagent
	ParentTitle string
	People      []person
	Window      windowView
	Target      int64 // the entry of the link; 0: none
	Live        bool
	Fork        bool
	Exports     []export.Format
	Continue    []string      // commands that continue the session
	Resume      string        // the only one of them
	Card, Turns template.HTML // the overview and the list of turns; "": page.js loads them later
	Updated     time.Time
}

type windowView struct {
	Base, Tape       string
	First, Last, End int64 // End: the last entry of the tape
	Previous, Next   int64 // 0: none
	Entries          []shownEntry
}

// session shows the window of a tape that has the entry or anchor in the path.
func (s *View) session(r *request) error {
	t, err := r.open()
	if errors.Is(err, repo.ErrNotFound) && s.Source == nil {
		return s.redirectToFull(r, err)
	}
	if err != nil {
		return err
	}
	d := sessionPage{Tape: t.Name(), Fork: t.IsFork(), Exports: export.Formats()}
	if d.Info, err = t.Info(r.Context()); err != nil {
		return err
	}
	phases, err := t.Phases(r.Context())
	if err != nil {
		return err
	}
	from := int64(1)
	if place := r.PathValue("place"); place != "" {
		if from, err = placeOf(place, phases, d.Info.Entries); err != nil {
			return err
		}
		d.Target = from
	}
	pending := s.outlineOf(r, t, d.Info)
	d.About, d.Continue = r.from.About(t), r.from.Continue(t)
	if len(d.Continue) == 1 {
		d.Resume = d.Continue[0]
	}
	d.Updated, _ = repo.Entry{Date: d.Info.Updated}.Time() // zero: not live
	d.Live = s.Now().Sub(d.Updated) < liveFor
	if parent, _, ok := strings.Cut(t.Name(), "/agent-"); d.Fork {
		d.Parent = t.Parent()
	} else if ok {
		d.Parent = parent
	}
	if d.Parent != "" {
		d.ParentTitle = s.titleOf(r, d.Parent)
	}
	for _, author := range d.About.Authors {
		d.People = append(d.People, personOf(author))
	}
	if o := pending.soon(soon); o != nil {
		if d.Card, d.Turns, err = s.head(s.overview(r, t, d.About, o, 0)); err != nil {
			return err
		}
	}
	if d.Window, err = s.windowAt(r, t, from, d.Info.Entries, pageBytes-len(d.Card)-len(d.Turns)); err != nil {
		return err
	}
	return s.show(r, "session", s.titleOf(r, t.Name()), d)
}

// redirectToFull redirects from a short address to the full one. A short address has a tape's number in the list, the
// beginning of its name, or TAPE@17. If there is no such tape, it returns missing.
func (s *View) redirectToFull(r *request, missing error) error {
	name, place := catalog.Entry(r.PathValue("tape"))
	if name == "" {
		name, place = place, r.PathValue("place")
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		facts, err := r.local().space.about(r.Context(), nil)
		if err != nil {
			return err
		}
		if list := catalog.InOrder(facts); n <= len(list) {
			name = list[n-1].Name
		}
	}
	t, err := catalog.Find(r.Context(), r.local().space.store, name)
	if errors.Is(err, repo.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	to := r.base + "/t/" + url.PathEscape(t.Name())
	if place != "" {
		to += "/" + url.PathEscape(place)
	}
	http.Redirect(r.w, r.Request, to, http.StatusFound)
	return nil
}

// placeOf returns the entry for @17, latest, end, or the name, number or folder of an anchor.
func placeOf(place string, phases []repo.Phase, end int64) (int64, error) {
	if id, ok := strings.CutPrefix(place, "@"); ok {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n < 1 || n > end {
			return 0, fmt.Errorf("%w: the session has no entry %s", repo.ErrNotFound, place)
		}
		return n, nil
	}
	named := func(p repo.Phase) bool { return p.Name == place || place == repo.Latest }
	numbered := func(p repo.Phase) bool {
		return p.Folder == place || strconv.Itoa(p.Seq) == strings.TrimLeft(place, "0")
	}
	for _, is := range []func(repo.Phase) bool{named, numbered} {
		for _, p := range slices.Backward(phases) {
			if is(p) {
				return p.FirstID, nil
			}
		}
	}
	if place == "end" {
		return end, nil
	}
	return 0, fmt.Errorf("%w: the session has no anchor %q", repo.ErrNotFound, place)
}

// windowAt reads the window that contains an entry. most is about how many bytes of HTML it may have.
func (s *View) windowAt(r *request, t Tape, id, end int64, most int) (windowView, error) {
	first := (id-1)/windowSize*windowSize + 1
	w := windowView{Base: r.base, Tape: t.Name(), First: first, Last: min(first+windowSize-1, end), End: end}
	if first > 1 {
		w.Previous = first - windowSize
	}
	if w.Last < end {
		w.Next = w.Last + 1
	}
	var err error
	w.Entries, err = s.entries(r, t, first, w.Last, most)
	return w, err
}

// entries returns what is shown of the items that begin within a range of ids.
func (s *View) entries(r *request, t Tape, first, last int64, most int) ([]shownEntry, error) {
	v := s.viewer(r, t, first, last)
	v.Turns, v.Most = s.lastOutline(r, t), most
	err := conversation.Each(r.Context(), until(r.from.From(r.Context(), t, max(1, first-around)), last+around), v.Item)
	return v.Entries(), err
}

// viewer returns a viewer for the items of a tape that begin within a range of ids.
func (s *View) viewer(r *request, t Tape, first, last int64) *entryViewer {
	return &entryViewer{Prose: s.md, Base: r.base, Tape: t.Name(), First: first, Last: last, Dir: r.from.About(t).Project, NoFiles: s.Source != nil,
		Subagent: func(agent string) string {
			name := t.Name() + "/agent-" + agent
			if _, err := r.from.Tape(r.Context(), name); agent == "" || err != nil {
				return ""
			}
			return r.base + "/t/" + url.PathEscape(name)
		}}
}

// until ends a sequence after the entry with an id.
func until(seq iter.Seq2[repo.Entry, error], last int64) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range seq {
			if err == nil && e.ID > last || !yield(e, err) {
				return
			}
		}
	}
}

// window sends a window of a session, without a page around it.
func (s *View) window(r *request) error {
	t, err := r.open()
	if err != nil {
		return err
	}
	info, err := t.Info(r.Context())
	if err != nil {
		return err
	}
	from, err := placeOf("@"+r.PathValue("from"), nil, info.Entries)
	if err != nil {
		return err
	}
	w, err := s.windowAt(r, t, from, info.Entries, pageBytes)
	if err != nil {
		return err
	}
	if after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64); err == nil {
		// Only new entries, and those with a new result.
		w.Entries = slices.DeleteFunc(w.Entries, func(e shownEntry) bool { return e.LastID <= after })
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return s.pages.ExecuteTemplate(r.w, "window", w)
}

// entry reads the entry that the path names.
func (r *request) entry() (Tape, repo.Entry, error) {
	t, err := r.open()
	if err != nil {
		return nil, repo.Entry{}, err
	}
	for e, err := range t.Show(r.Context(), "@"+strings.TrimPrefix(r.PathValue("id"), "@")) {
		return t, e, err
	}
	return nil, repo.Entry{}, fmt.Errorf("%w: there is no such entry", repo.ErrNotFound)
}

// entry shows one entry in full: as a page, or with ?part as a fragment for page.js.
func (s *View) entry(r *request) error {
	t, e, err := r.entry()
	if err != nil {
		return err
	}
	v := s.viewer(r, t, e.ID, e.ID)
	v.Whole = true
	// Later entries may have the results of its calls.
	if err := conversation.Each(r.Context(), until(r.from.From(r.Context(), t, e.ID), e.ID+around), v.Item); err != nil {
		return err
	}
	if r.URL.Query().Has("part") {
		r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for _, one := range v.Entries() {
			if err := s.pages.ExecuteTemplate(r.w, "entry", one); err != nil {
				return err
			}
		}
		return nil
	}
	return s.show(r, "entry", fmt.Sprintf("Entry %d: %s", e.ID, s.titleOf(r, t.Name())), windowView{Base: r.base, Tape: t.Name(), First: e.ID, Entries: v.Entries()})
}

// image sends a picture within an entry.
func (s *View) image(r *request) error {
	_, e, err := r.entry()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.PathValue("n"))
	mime, data := pictureOf(e, n)
	if err != nil || mime == "" {
		return fmt.Errorf("%w: the entry has no such image", repo.ErrNotFound)
	}
	r.w.Header().Set("Content-Type", mime)
	_, err = io.Copy(r.w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	return err
}

// raw sends the stored line of an entry.
func (s *View) raw(r *request) error {
	_, e, err := r.entry()
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "application/json")
	_, err = r.w.Write(append(e.Raw, '\n'))
	return err
}

// export writes the session, the phase of ?anchor=, or the entry ?id=, in a format of tape export.
func (s *View) export(r *request) error {
	t, err := r.open()
	if err != nil {
		return err
	}
	phases, err := t.Phases(r.Context())
	if err != nil {
		return err
	}
	f, ok := export.Find(r.PathValue("format"))
	if !ok {
		return fmt.Errorf("%w: there is no format %q", repo.ErrNotFound, r.PathValue("format"))
	}
	src := export.Source{Tape: t.Name(), Phases: phases, AgentTitle: agentName, Resumes: importer.All().Resumes, Prose: s.md.Folded}
	if id := r.URL.Query().Get("id"); id != "" { // one entry
		src.Entries = t.Show(r.Context(), "@"+id)
		src.Whole = src.Entries
		src.Phases = nil
	} else {
		q := repo.Query{Phase: r.URL.Query().Get("anchor")}
		src.Entries, src.Whole = t.Entries(r.Context(), q), t.Entries(r.Context(), repo.Query{})
		for _, p := range phases {
			if q.Phase != "" && q.Phase == p.Name {
				src.First, src.Last = p.Seq, p.Seq
			}
		}
	}
	if whole, ok := t.(*repo.Tape); ok && f.Artifacts != nil {
		src.Entries = view.Each(r.Context(), whole, src.Entries, f.Artifacts)
	}
	r.w.Header().Set("Content-Type", f.Media+"; charset=utf-8")
	if f.Media == "text/html" { // its style is inline
		r.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox")
	}
	return f.Write(r.Context(), r.w, src)
}

// artifact sends an artifact: a picture to be shown, anything else to be saved.
func (s *View) artifact(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	a, f, err := t.OpenArtifact(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer f.Close()
	r.w.Header().Set("Content-Type", "application/octet-stream")
	if display.IsShown(a.MIMEType) {
		r.w.Header().Set("Content-Type", a.MIMEType)
	} else {
		r.w.Header().Set("Content-Disposition", "attachment")
	}
	_, err = io.Copy(r.w, f)
	return err
}

var errForbidden = errors.New("not allowed")
