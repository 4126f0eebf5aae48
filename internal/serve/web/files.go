package web

import (
	"cmp"
	"slices"
	"strings"

	"tape/index"
	"tape/internal/store/about"
)

// editsShown is how many edits the page of files has.
const editsShown = 200

type editsPage struct {
	Days []editsDay
	Path string // of the filter
}

type editsDay struct {
	Title string
	Edits []edit
}

// edit is what a session changed in a file.
type edit struct {
	index.FileUse
	Base, Session, Project, Shown string
}

// files lists the last edits of all sessions, as tape files does; with ?path=, those of files whose path has this part.
func (s *View) files(r *request) error {
	d := editsPage{Path: strings.TrimSpace(r.URL.Query().Get("path"))}
	var list []edit
	spaces := s.together(r.Context(), r.local())
	for _, w := range spaces {
		found, err := w.edits(r, d.Path)
		if err != nil && len(spaces) == 1 {
			return err
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(a, b edit) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Tape, b.Tape), cmp.Compare(a.Path, b.Path))
	})
	for _, e := range list[:min(len(list), editsShown)] {
		title := "Without a date"
		if !e.Last.IsZero() {
			title = s.dayName(e.Last)
		}
		if n := len(d.Days); n == 0 || d.Days[n-1].Title != title {
			d.Days = append(d.Days, editsDay{Title: title})
		}
		day := &d.Days[len(d.Days)-1]
		day.Edits = append(day.Edits, e)
	}
	return s.show(r, "files", "Files", d)
}

// edits returns the last edits of a workspace, or those of files whose path has a part.
func (w *space) edits(r *request, part string) (out []edit, err error) {
	filter := index.FileFilter{Edits: editsShown}
	if part != "" {
		filter = index.FileFilter{Match: func(path string) bool { return containsFold(path, part) }}
	}
	facts, err := w.about(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	byName := map[string]about.Tape{}
	for _, a := range facts {
		byName[a.Name] = a
	}
	w.mu.Lock()
	uses, err := w.index.Files(r.Context(), filter)
	w.mu.Unlock()
	for _, u := range uses {
		a := byName[u.Tape]
		if u.Writes > 0 && a.Name != "" {
			out = append(out, edit{FileUse: u, Base: w.base, Session: labelOf(a), Project: a.ProjectName(), Shown: about.InProject(a.Project, u.Path)})
		}
	}
	return out, err
}
