// Package web shows workspaces in a browser: sessions, search, conversations, forks,
// statistics. Pages are rendered here and work without script; page.js adds following, keys,
// and loading of long sessions while scrolling.
//
// Recorded text is hostile. Templates and goldmark (raw HTML off) keep it text, and the
// policy in the header lets a page load only what this package serves.
package web

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"tape/internal/sessions/importer"
	"tape/internal/show/block"
	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/show/prose"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

// Options say what is shown, and to whom.
type Options struct {
	Store *repo.Store      // a workspace
	All   bool             // show the user's other workspaces together with it
	Write bool             // offer forms that hand off, fork, merge and rename, and those for links to a session
	Base  string           // the path of the public address; the requests do not have it
	Path  string           // with Store: the prefix of all pages below Base, which cannot be guessed
	Now   func() time.Time // nil: time.Now

	Start   string // with Store: the page below Base and Path that a link leads to, such as /review?range=HEAD; "" is the list
	Project string // with Store: the folder of the project whose commits are reviewed; "": that of the workspace

	// Source replaces Store: it returns the sessions that a request may show, of one place, or of all places for "".
	// The pages then only read, and the caller has checked who asks. Errors: ErrNotFound.
	Source func(r *http.Request, place string) (Source, error)
	LogOut func(*http.Request) bool // with Source: reports whether pages have a button to log out

	KeepConn func(*http.Request)                      // called for requests with a session
	NewLink  func(code string)                        // called with the code of a new link: /?link=CODE
	Note     func(action, resource string, done bool) // called for refused links and for changes
}

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets
var assets embed.FS

//go:embed assets/style.css
var style string

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// View is the handler of all pages. Its requests were admitted by a front.Front.
type View struct {
	Options
	handler    http.Handler
	background sync.WaitGroup
	doors      browserDoors
	pages      *template.Template
	md         *prose.Renderer
	mu         sync.Mutex        // for spaces and outlines
	spaces     map[string]*space // by the prefix of their links
	outlines   outlines
	later      func(func(context.Context)) // runs a function in the background
}

// New makes the view. Work in the background ends with the context.
func New(ctx context.Context, o Options) *View {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &View{Options: o, md: prose.New(), spaces: map[string]*space{}, outlines: outlines{}, doors: browserDoors{Now: o.Now}}
	s.later = func(f func(context.Context)) { s.background.Go(func() { f(ctx) }) }
	s.pages = template.Must(template.New("").Funcs(s.funcs()).ParseFS(pageFiles, "pages/*.html"))
	in := http.NewServeMux()
	in.HandleFunc("GET /{$}", s.page(s.sessions))
	in.HandleFunc("GET /search", s.page(s.search))
	in.HandleFunc("GET /t/{tape}", s.page(s.session))
	in.HandleFunc("GET /t/{tape}/{place}", s.page(s.session))
	in.HandleFunc("GET /t/{tape}/-/window/{from}", s.page(s.window))
	in.HandleFunc("GET /t/{tape}/-/entry/{id}", s.page(s.entry))
	in.HandleFunc("GET /t/{tape}/-/raw/{id}", s.page(s.raw))
	in.HandleFunc("GET /t/{tape}/-/outline", s.page(s.outlinePage))
	in.HandleFunc("GET /t/{tape}/-/find", s.page(s.find))
	in.HandleFunc("GET /t/{tape}/-/stats", s.page(s.statsOfSession))
	in.HandleFunc("GET /t/{tape}/-/export/{format}", s.page(s.export))
	in.HandleFunc("GET /t/{tape}/-/image/{id}/{n}", s.page(s.image))
	if s.Source == nil {
		s.addWorkspacePages(in)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.HandleFunc("GET /assets/style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "style.css", time.Time{}, strings.NewReader(export.Colours()+style))
	})
	mux.HandleFunc("GET /assets/copy.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "copy.js", time.Time{}, strings.NewReader(block.Script()))
	})
	mux.Handle("/w/{space}/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.inSpace(w, r, in) }))
	mux.Handle("/", in)
	if s.handler = s.guarded(mux); s.Source != nil {
		s.handler = mux
	}
	return s
}

// addWorkspacePages adds the pages that only a workspace has.
func (s *View) addWorkspacePages(in *http.ServeMux) {
	in.HandleFunc("GET /stats", s.page(s.stats))
	in.HandleFunc("GET /digest", s.page(s.digest))
	in.HandleFunc("GET /files", s.page(s.files))
	in.HandleFunc("GET /diff", s.page(s.diff))
	in.HandleFunc("GET /review", s.page(s.review))
	in.HandleFunc("GET /t/{tape}/-/follow", s.page(s.follow))
	in.HandleFunc("GET /t/{tape}/-/forks", s.page(s.forks))
	in.HandleFunc("GET /t/{tape}/-/links", s.page(s.links))
	in.HandleFunc("GET /t/{tape}/-/artifact/{id}", s.page(s.artifact))
	in.HandleFunc("POST /t/{tape}/-/do/{what}", s.page(s.do))
}

func (s *View) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Wait waits for work in the background.
func (s *View) Wait() { s.background.Wait() }

// Link is the path of a new link, which gives a browser a session: once, within a minute.
func (s *View) Link() string { return LinkPath(s.doors.Link()) }

// LinkPath is the path of the link with a code.
func LinkPath(code string) string { return "/?link=" + code }

// request is a request for a page.
type request struct {
	*http.Request
	w    http.ResponseWriter
	from Source
	base string // the prefix of links
}

// open opens the session that the path names.
func (r *request) open() (Tape, error) { return r.from.Open(r.Context(), r.PathValue("tape")) }

// local returns the source of a page that only workspaces have.
func (r *request) local() local { return r.from.(local) }

// tape returns the tape in the path of a page that only workspaces have.
func (r *request) tape() (*repo.Tape, error) {
	return r.local().space.store.Tape(r.Context(), r.PathValue("tape"))
}

type spaceKey struct{}

// inSpace serves a page of a workspace other than Store, or of one remote.
func (s *View) inSpace(w http.ResponseWriter, r *http.Request, in http.Handler) {
	name := r.PathValue("space")
	if s.Source == nil && s.others()[name] == "" {
		http.NotFound(w, r)
		return
	}
	prefix := "/w/" + url.PathEscape(name)
	r2 := r.WithContext(context.WithValue(r.Context(), spaceKey{}, name))
	r2.URL, _ = url.Parse(strings.TrimPrefix(r.URL.EscapedPath(), prefix) + "?" + r.URL.RawQuery)
	if r2.URL == nil || !strings.HasPrefix(r.URL.EscapedPath(), prefix) {
		http.NotFound(w, r)
		return
	}
	in.ServeHTTP(w, r2)
}

// page calls a handler with the request's source, and shows its error.
func (s *View) page(f func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, _ := r.Context().Value(spaceKey{}).(string)
		q := &request{Request: r, w: w, base: s.root()}
		err := s.findSource(q, name)
		if err == nil {
			err = f(q)
		}
		if err == nil || r.Context().Err() != nil {
			return
		}
		code := http.StatusInternalServerError
		switch {
		case errors.Is(err, repo.ErrNotFound):
			code = http.StatusNotFound
		case errors.Is(err, repo.ErrInvalid):
			code = http.StatusBadRequest
		case errors.Is(err, repo.ErrConflict):
			code = http.StatusConflict
		case errors.Is(err, errForbidden):
			code = http.StatusForbidden
		}
		if q.from == nil {
			s.Plain(w, code, PlainPage{Title: "Not shown", Text: display.Line(err.Error())})
			return
		}
		w.WriteHeader(code)
		_ = s.show(q, "error", "Not shown", display.Line(err.Error()))
	}
}

// findSource sets the source of a request for pages of a place, "" for all.
func (s *View) findSource(r *request, place string) (err error) {
	if s.Source != nil {
		if place != "" {
			r.base += "/w/" + url.PathEscape(place)
		}
		r.from, err = s.Source(r.Request, place)
		return err
	}
	w, err := s.open(r.Context(), place, s.others()[place])
	if err != nil {
		return err
	}
	r.base, r.from = w.base, local{s, w, place != "" || !s.All}
	return nil
}

// frame is the data of the frame around every page.
type frame struct {
	Title, Root, Base, Query string
	Page                     string // the template
	Places                   Places
	Workspace                bool   // workspaces have more pages than other sources
	Reviews                  bool   // commits can be reviewed
	Remote                   string // without Workspace: the remote of the sessions
	Write, LogOut            bool
	FormToken                string
	Data                     any
}

// show writes a page. After an error, it is incomplete.
func (s *View) show(r *request, name, title string, data any) error {
	f := frame{Page: name, Title: title, Root: s.root(), Base: r.base, FormToken: formToken(r.Request), Places: r.from.Places(), Query: r.URL.Query().Get("q"),
		Workspace: s.Source == nil, Write: s.Write, LogOut: s.LogOut == nil || s.LogOut(r.Request), Data: data}
	if f.Reviews = s.hasProject(r.from); !f.Workspace {
		f.Remote = f.Places.Here
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return s.pages.ExecuteTemplate(r.w, name+".html", f)
}

func (s *View) funcs() template.FuncMap {
	return template.FuncMap{
		"line":  display.PageLine,
		"asset": func(name string) string { return s.Base + assetsPath + name },
		"bytes": func(n int) string { return display.Bytes(int64(n)) },
		"took":  display.Work,
		"num":   display.Number,
		"esc":   url.PathEscape,
		"changed": func(added, removed int64) template.HTML {
			return template.HTML(block.Changed(added, removed)) //nolint:gosec // numbers
		},
		"person": func(author string) string { return personOf(author).Name },
		"agent":  agentName,
		"label":  labelOf,
		"when":   when,
		"args":   func(a, b any) struct{ A, B any } { return struct{ A, B any }{a, b} },
		"list":   func(all ...any) []any { return all },
		"clock":  clock,
		"day":    s.dayName,
		"only":   func() template.HTML { return block.Only },
		"resume": func(command string) template.HTML { return template.HTML(block.Resume(command)) }, //nolint:gosec // it escapes
		"phase": func(name string) string {
			if name == layout.FirstAnchor {
				return "Start"
			}
			return display.PageLine(name)
		},
		"ago": func(t time.Time) template.HTML { return s.ago(t) },
		"agoText": func(text string) template.HTML {
			t, ok := display.ParseStored(text)
			if !ok {
				return template.HTML(template.HTMLEscapeString(display.Line(text))) //nolint:gosec // escaped
			}
			return s.ago(t)
		},
		"dir":    func(name string) string { dir, _ := path.Split(display.Line(name)); return dir },
		"base":   func(name string) string { return path.Base(display.Line(name)) },
		"commit": display.ShortCommit,
		"clip": func(text string, cells int) string {
			text = display.Truncate(display.PageLine(strings.Join(strings.Fields(text), " ")), cells)
			if whole, cut := strings.CutSuffix(text, " …"); cut { // which would stand on a line of its own
				return whole + "…"
			}
			return text
		},
		"count": func(n any, one, many string) string {
			switch n := n.(type) {
			case int:
				return display.Count(n, one, many)
			case int64:
				return display.Count(n, one, many)
			}
			return ""
		},
		"icon": func(name string) template.HTML {
			return template.HTML(`<svg class="i i-` + name + `" aria-hidden="true"><use href="#i-` + name + `"/></svg>`) //nolint:gosec // names are ours
		},
	}
}

// ago is a date as people say it, with the full one as title.
func (s *View) ago(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	now := s.Now()
	text := display.Ago(now, t.Format(time.RFC3339Nano), "2 Jan 2006")
	if t.Year() == now.Year() {
		text = display.Ago(now, t.Format(time.RFC3339Nano), "2 Jan")
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + when(t) + `">` + template.HTMLEscapeString(text) + "</time>") //nolint:gosec // escaped
}

// when is a date in full.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(display.Minute)
}

// clock is the time of a day, with the full date as title.
func clock(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + when(t) + `">` + t.Local().Format("15:04") + "</time>") //nolint:gosec // numbers
}

// random matches names that agents make up for their sessions.
var random = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f-]{20,}$`)

// labelOf is what pages call a session: its title with what tells it apart, or its name. If an agent made the name up,
// it is "Untitled session", or "Subagent", with the beginning of the name.
func labelOf(a about.Tape) string {
	name, helper := strings.CutPrefix(path.Base(a.Name), "agent-")
	switch {
	case a.Title != "" || !random.MatchString(name):
	case helper:
		return "Subagent " + name[:8]
	default:
		return "Untitled session " + name[:8]
	}
	return a.Label()
}

// agentName returns what people call an agent.
func agentName(name string) string {
	return display.Line(importer.All().Title(name))
}
