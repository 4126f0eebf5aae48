package web

import "tape/repo"

const commitsShown = 200

type forksPage struct {
	Tape   string
	Parent string
	Open   []repo.ForkInfo
	Closed []repo.ForkInfo
	Graph  graph
	More   bool
	Names  []string
}

// forks shows the forks of a tape, and the graph of its history.
func (s *View) forks(r *request) error {
	t, err := r.tape()
	if err != nil {
		return err
	}
	d := forksPage{Tape: t.Name(), Parent: t.Parent()}
	open, err := t.Forks(r.Context())
	if err != nil {
		return err
	}
	for _, f := range open {
		info, err := f.ForkInfo(r.Context())
		if err != nil {
			return err
		}
		d.Open = append(d.Open, info)
		d.Names = append(d.Names, f.Name())
	}
	if d.Closed, err = t.ClosedForks(r.Context()); err != nil {
		return err
	}
	var list []repo.Commit
	for c, err := range t.History(r.Context()) {
		if err != nil {
			return err
		}
		if d.More = len(list) == commitsShown; d.More {
			break
		}
		list = append(list, c)
	}
	d.Graph = drawn(list, t.Name())
	return s.show(r, "forks", "Forks of "+t.Name(), d)
}
