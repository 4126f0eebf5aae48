package find

import (
	"cmp"
	"slices"

	"tape/internal/store/relevance"
)

// Survey is what the words of a search are worth among the entries that it searches.
type Survey struct {
	Corpus relevance.Corpus
	Bytes  float64               // of all entries
	Found  map[string]int        // how many entries have a word, or a part of one
	Near   map[string][]nearTerm // words that are similar to one that no entry has
}

// Add adds another survey, of other entries.
func (s *Survey) Add(o *Survey) {
	s.Corpus.Newest = max(s.Corpus.Newest, o.Corpus.Newest)
	s.Corpus.Entries += o.Corpus.Entries
	s.Corpus.Even = s.Corpus.Even || o.Corpus.Even
	s.Bytes += o.Bytes
	s.Corpus.Average = max(1, s.Bytes/max(1, s.Corpus.Entries))
	if s.Found == nil {
		s.Found, s.Near = map[string]int{}, map[string][]nearTerm{}
	}
	for id, n := range o.Found {
		s.Found[id] += n
	}
	for id, list := range o.Near {
		for _, n := range list {
			at := slices.IndexFunc(s.Near[id], func(has nearTerm) bool { return has.term == n.term })
			if at < 0 {
				s.Near[id] = append(s.Near[id], n)
				continue
			}
			s.Near[id][at].entries += n.entries
		}
	}
}

// survey surveys the words of the query.
func (f *finder) survey() (*Survey, error) {
	s := &Survey{Corpus: f.corpus(), Found: map[string]int{}, Near: map[string][]nearTerm{}}
	for _, t := range f.eval.tapes {
		s.Bytes += float64(t.bytes)
	}
	for _, feature := range f.query.Features() {
		docs, err := f.eval.featured(feature)
		if err != nil {
			return nil, err
		}
		if s.Found[feature.ID] = docs.n; docs.n > 0 || !f.query.Plain(feature.ID) || f.s.AsSpelt {
			continue
		}
		if s.Near[feature.ID], err = f.near(feature.ID); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// nearest returns the words with the fewest slips, of these the most frequent, at most so many.
func nearest(list []nearTerm, most int) (out []string) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), cmp.Compare(b.entries, a.entries), cmp.Compare(a.term, b.term))
	})
	for _, n := range list[:min(len(list), most)] {
		out = append(out, n.term)
	}
	return out
}
