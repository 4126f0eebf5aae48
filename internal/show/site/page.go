package site

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/store/layout"
)

// policy lets a page load files beside it, and nothing else. It allows file: too, because not all browsers take 'self'
// to mean the folder of a page that was opened from one.
const policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src 'self' file: data:; style-src 'self' file:; script-src 'self' file:"

var templates = template.Must(template.New("").Parse(`
{{define "head"}}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="` + madeBy + `">
<meta http-equiv="Content-Security-Policy" content="` + policy + `">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="stylesheet" href="{{.Up}}style.css">
<script defer src="{{.Up}}search.js"></script>
</head>
{{end}}
{{define "page"}}{{template "head" .}}<body class="session">
<a class="skip" href="#tape">Skip to the entries</a>
<header class="top">
<p class="back"><a href="../../index.html">All sessions</a></p>
<h1 dir="auto">{{.Title}}</h1>
<p class="facts">{{range .Facts}}<span dir="auto">{{.}}</span>
{{end}}</p>
{{.Tools}}</header>
<nav aria-label="Contents">
<h2>Contents</h2>
<ol class="toc">
{{range .Toc}}<li{{if .Phase}} class="phase"{{end}}><a href="{{.Href}}" dir="auto"{{if .Lang}} lang="{{.Lang}}"{{end}}>{{.Text}}</a></li>
{{end}}</ol>
{{if .More}}<p class="dim">{{.More}}</p>{{end}}
</nav>
<main id="tape">
{{.Body}}
{{if gt (len .Pages) 1}}<nav class="pager" aria-label="Pages">{{range .Pages}}{{if .Href}}<a href="{{.Href}}"{{if .Rel}} rel="{{.Rel}}"{{end}}>{{.Text}}</a>{{else}}<span aria-current="page">{{.Text}}</span>{{end}}
{{end}}</nav>{{end}}
<footer>
{{if .Left}}<p>Not on these pages: {{.Left}}.</p>{{end}}
<p>Times are {{.Zone}}. <a href="README.md">As Markdown</a></p>
</footer>
</main>
</body>
</html>
{{end}}
{{define "whole"}}{{template "head" .}}<body class="session whole">
<header class="top">
<p class="back"><a href="{{.Back}}">Back to the session</a></p>
<h1 dir="auto">{{.Title}}</h1>
<p class="facts"><span>Page {{.Page}} with the whole of its long texts</span></p>
</header>
<main id="tape">
{{.Body}}
</main>
</body>
</html>
{{end}}
{{define "index"}}{{template "head" .}}<body class="list">
<header class="top">
<h1>Sessions</h1>
<p class="facts"><span>{{.Count}}</span>{{range .Facts}} <span dir="auto">{{.}}</span>{{end}}</p>
<div id="search" data-files="{{.Files}}"></div>
</header>
<main>
<div id="found" hidden></div>
<div id="days">
{{range .Days}}<section>
<h2>{{.Day}}</h2>
<ul class="sessions">
{{range .Sessions}}<li><a href="{{.Href}}" dir="auto"{{if .Lang}} lang="{{.Lang}}"{{end}}>{{.Title}}</a>
<p class="facts">{{range .Facts}}<span dir="auto">{{.}}</span>
{{end}}</p></li>
{{end}}</ul>
</section>
{{end}}{{if gt (len .Pages) 1}}<nav class="pager" aria-label="Pages">{{range .Pages}}{{if .Href}}<a href="{{.Href}}"{{if .Rel}} rel="{{.Rel}}"{{end}}>{{.Text}}</a>{{else}}<span aria-current="page">{{.Text}}</span>{{end}}
{{end}}</nav>{{end}}
</div>
</main>
</body>
</html>
{{end}}`))

type link struct {
	Href, Text, Rel, Lang string
	Phase                 bool
}

type document struct {
	Title, Up, Zone, Left, More, Back string
	Page                              int
	Facts                             []string
	Toc, Pages                        []link
	Body, Tools                       template.HTML
}

// document is a page of the session.
func (p *sessionPages) document(page int, left []string) []byte {
	d := document{Title: p.x.Title, Up: "../../", Zone: display.ZoneName(p.x.Started), Left: strings.Join(left, "; "), Facts: append(factsOf(p.x), spanOf(p.x)...),
		Body: template.HTML(p.bodies[page-1]), Tools: template.HTML(p.top.Tools)} //nolint:gosec // export has escaped them
	for _, e := range p.contents(page) {
		l := link{Text: display.Title(e.text, 120), Lang: display.Language(e.text), Phase: e.phase, Href: fmt.Sprintf("#e%d", e.id)}
		if e.phase {
			l.Href = fmt.Sprintf("#p%d", e.id)
		}
		if e.page != page {
			l.Href = p.name(e.page) + l.Href
		}
		d.Toc = append(d.Toc, l)
	}
	if len(d.Toc) < len(p.toc) {
		d.More = fmt.Sprintf("This is page %d of %d.", page, len(p.bodies))
	}
	d.Pages = pager(page, len(p.bodies), p.name)
	return render("page", d)
}

// contents are the prompts and phases that a page lists: all of the session, or if these are too many, those of the
// page.
func (p *sessionPages) contents(page int) []tocEntry {
	if len(p.toc) <= listedMost {
		return p.toc
	}
	own := slices.Clone(p.toc)
	own = slices.DeleteFunc(own, func(e tocEntry) bool { return e.page != page })
	return own[:min(len(own), listedMost)]
}

func (p *sessionPages) wholeDocument(page int, body []byte) []byte {
	return render("whole", document{Title: p.x.Title, Up: "../../", Page: page, Back: p.name(page), Body: template.HTML(body)}) //nolint:gosec // export has escaped it
}

// pager returns links to the pages near a page, and to the first and last.
func pager(page, last int, name func(int) string) (out []link) {
	const near = 4
	for i := 1; i <= last; i++ {
		switch {
		case i == page:
			out = append(out, link{Text: fmt.Sprint(i)})
		case i == 1, i == last, i >= page-near && i <= page+near:
			rel := map[int]string{page - 1: "prev", page + 1: "next"}[i]
			out = append(out, link{Href: name(i), Text: fmt.Sprint(i), Rel: rel})
		}
	}
	return out
}

func render(name string, data any) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a mistake in the template
	}
	return b.Bytes()
}

// indexMost is how many sessions a page of the list has at most.
const indexMost = 200

// readmeMost is how many sessions the list for git hosts has at most.
const readmeMost = 1000

type day struct {
	Day      string
	Sessions []row
}

type row struct {
	Href, Title, Lang string
	Facts             []string
}

type indexPage struct {
	Title, Up, Count, Files string
	Facts                   []string
	Days                    []day
	Pages                   []link
}

// newest returns the sessions, the newest first.
func (s *Site) newest() []Session {
	list := slices.Clone(s.sessions)
	slices.SortStableFunc(list, func(a, b Session) int { return b.Updated.Compare(a.Updated) })
	return list
}

func indexName(page int) string {
	if page == 1 {
		return indexFile
	}
	return fmt.Sprintf("index-%d.html", page)
}

// writeIndex writes the list for git hosts and the pages of the list, the first page last.
func (s *Site) writeIndex() error {
	list := s.newest()
	if err := s.writeReadme(list); err != nil {
		return err
	}
	pages := max(1, (len(list)+indexMost-1)/indexMost)
	for n := pages + 1; ; n++ { // pages that the list no longer has
		if data, err := s.readOurs(indexName(n)); data == nil || err != nil {
			break
		}
		if err := s.folder.Remove(indexName(n)); err != nil {
			return err
		}
	}
	for page := pages; page >= 1; page-- {
		part := list[min(len(list), (page-1)*indexMost):min(len(list), page*indexMost)]
		d := indexPage{Title: "Sessions", Count: display.Count(len(list), "session", "sessions"), Files: s.searchNames(), Facts: projectsOf(list), Pages: pager(page, pages, indexName)}
		for _, x := range part {
			name := dayOf(x, "Monday, 2 January 2006")
			if len(d.Days) == 0 || d.Days[len(d.Days)-1].Day != name {
				d.Days = append(d.Days, day{Day: name})
			}
			last := &d.Days[len(d.Days)-1]
			last.Sessions = append(last.Sessions, row{Href: sessionsDir + "/" + x.Folder + "/" + indexFile, Title: display.Title(x.Title, 160), Lang: display.Language(x.Title), Facts: append(beganAt(x), factsOf(x)...)})
		}
		if _, err := s.readOurs(indexName(page)); err != nil {
			return err
		}
		if err := s.write(indexName(page), render("index", d)); err != nil {
			return err
		}
	}
	return nil
}

// dayOf returns the day of a session's last entry, in a layout of [time.Time.Format].
func dayOf(x Session, layout string) string {
	if x.Updated.IsZero() {
		return "Without a date"
	}
	return x.Updated.Local().Format(layout)
}

// projectsOf names the projects, if they are few.
func projectsOf(list []Session) (out []string) {
	const few = 6
	for _, x := range list {
		if x.Project != "" && !slices.Contains(out, x.Project) {
			if out = append(out, x.Project); len(out) > few {
				return nil
			}
		}
	}
	slices.Sort(out)
	return out
}

// factsOf returns the facts that stand below a session's title.
func factsOf(x Session) (out []string) {
	add := func(text string) {
		if text = display.Title(text, 100); text != "" {
			out = append(out, text)
		}
	}
	add(strings.Join(x.People, ", "))
	add(x.Project)
	add(x.Agent)
	add(x.Model)
	add(strings.Join(display.CountList(x.Prompts, "prompt", "prompts"), ""))
	if d := x.Updated.Sub(x.Started); !x.Started.IsZero() && d >= time.Minute && d < 24*time.Hour {
		add(spent(d))
	}
	return out
}

// beganAt is the time of day, which tells sessions with the same title apart.
func beganAt(x Session) []string {
	if x.Started.IsZero() {
		return nil
	}
	return []string{x.Started.Local().Format("15:04")}
}

// spanOf says from when to when a session was.
func spanOf(x Session) []string {
	if x.Started.IsZero() {
		return nil
	}
	return []string{display.Span(x.Started, x.Updated)}
}

// spent is a duration in hours and minutes, as text.
func spent(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}

// writeReadme writes the list that git hosts show. A README.md of somebody else stays.
func (s *Site) writeReadme(list []Session) error {
	_, err := s.readOurs(readmeFile)
	if errors.Is(err, layout.ErrConflict) {
		s.skipped = append(s.skipped, readmeFile)
		return nil
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("<!-- " + madeBy + " -->\n# Sessions\n\n" + display.Count(len(list), "session", "sessions") + ". Each has a page to read here, and pages for a browser beside it.\n")
	last := ""
	for i, x := range list {
		if i == readmeMost {
			fmt.Fprintf(&b, "\n%d older ones are in the folder [sessions](sessions).\n", len(list)-i)
			break
		}
		if name := dayOf(x, time.DateOnly); name != last {
			last = name
			b.WriteString("\n## " + name + "\n\n")
		}
		fmt.Fprintf(&b, "- [%s](%s/%s/%s)", export.MarkdownLine(x.Title, 160), sessionsDir, url.PathEscape(x.Folder), readmeFile)
		for _, f := range append(beganAt(x), factsOf(x)...) {
			b.WriteString(" · " + export.MarkdownLine(f, 100))
		}
		b.WriteString("\n")
	}
	return s.write(readmeFile, b.Bytes())
}
