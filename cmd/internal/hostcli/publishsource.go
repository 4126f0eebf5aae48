package hostcli

import (
	"context"
	"iter"

	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/repo"
	"tape/repo/view"
)

// source returns a session with its secrets masked. left says what the pages do not show; call it once all entries
// were read.
func (p *publisher) source(ctx context.Context, t *repo.Tape) (src export.Source, left func() []string, err error) {
	phases, err := t.Phases(ctx)
	if err != nil {
		return src, nil, err
	}
	for i := range phases {
		phases[i].Name = p.mask.Text(phases[i].Name)
		phases[i].State = p.mask.Value(t.Name(), phases[i].State)
		phases[i].Tag, phases[i].Commit = "", "" // readers of the pages do not have the repository
	}
	files := map[string]bool{}
	read := func(e repo.Entry) (repo.Entry, error) {
		for _, a := range repo.References(e) {
			if !display.IsShown(a.MIMEType) {
				files[a.ID] = true
			}
		}
		return p.mask.Entry(e)
	}
	whole := cached(func(yield func(repo.Entry, error) bool) {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err == nil {
				e, err = read(e)
			}
			if !yield(e, err) {
				return
			}
		}
	})
	src = export.Source{Tape: t.Name(), AgentTitle: importer.All().Title, Resumes: importer.All().Resumes, Phases: phases, Prose: p.prose, Whole: whole, Entries: view.Each(ctx, t, whole, view.WithPictures)}
	return src, func() []string {
		out := display.CountList(len(files), "file", "files")
		if n := p.mask.CountOf(t.Name()); n > 0 {
			out = append(out, display.Count(n, "secret", "secrets")+", masked")
		}
		return out
	}, nil
}

// cached reads entries once and keeps them for further reads, unless they are too large.
func cached(entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	const most = 64 << 20 // bytes
	var list []repo.Entry
	size, complete := 0, false
	return func(yield func(repo.Entry, error) bool) {
		if complete {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		list, size = nil, 0
		for e, err := range entries {
			if size += len(e.Raw); err == nil && size <= most {
				list = append(list, e)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		complete = size <= most
	}
}
