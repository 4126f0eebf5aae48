package find

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"unicode"

	"golang.org/x/sync/errgroup"

	"tape/index/internal/store"
	"tape/internal/store/relevance"
	"tape/internal/text"
	"tape/repo"
)

// tapeScan searches the files of one tape, several at a time, the newest first, until there are enough hits.
// A fork's entries up to its base are searched in the parent's files, which are in a working tree more often.
type tapeScan struct {
	Search
	rank     int // of the tape
	find     *Scanner
	part     part // the part being searched
	files    *query.Files
	every    bool // every match is wanted
	complete bool // all files were searched

	mu    sync.Mutex
	found []fileMatch
}

// fileSeries is a sequence of files in which ids ascend.
type fileSeries struct {
	files []int // not searched yet
	first int64 // first id of the files searched so far
}

// left returns how many unsearched files may have entries with an id of at least from.
func (l *fileSeries) left(from int64) int {
	if l.first <= from {
		return 0
	}
	return len(l.files)
}

// run searches parts of the tape; nil means what the query selects in the tape's own files.
func (s *tapeScan) run(ctx context.Context, t *repo.Tape, where parts) ([]fileMatch, error) {
	s.Query = s.Query.Of((*workspace.Tape)(t))
	q := s.Query
	if where == nil {
		where = parts{{holder: t, lo: 1, hi: math.MaxInt64}}
	} else {
		q = repo.Query{Kinds: q.Kinds} // the parts are already cut to the anchors
	}
	s.every = s.limit() == math.MaxInt || s.Count
	for _, s.part = range where {
		var err error
		if s.files, err = query.FilesOf(ctx, (*workspace.Tape)(s.part.holder), q); err != nil {
			return nil, err
		}
		if done, err := s.searchPart(ctx); err != nil || done {
			return s.found, err
		}
	}
	s.complete = true
	return s.found, nil
}

// searchPart searches the current files, and reports whether there are enough hits.
func (s *tapeScan) searchPart(ctx context.Context) (bool, error) {
	all := s.every && s.part.lo == 1 && s.part.hi == math.MaxInt64
	// From the last phase to the first, and from the last files of each.
	for last := s.files.Len() - 1; last >= 0; {
		phase, _ := s.files.Series(last)
		series := map[int]*fileSeries{}
		for ; last >= 0; last-- {
			p, n := s.files.Series(last)
			if p != phase && !all {
				break
			}
			if series[n] == nil {
				series[n] = &fileSeries{first: math.MaxInt64}
			}
			series[n].files = append(series[n].files, last)
		}
		if err := s.skipLater(series); err != nil {
			return false, err
		}
		done, err := s.searchPhase(ctx, series, all)
		if err != nil || done {
			return done, err
		}
		for _, l := range series {
			if l.first <= s.part.lo {
				return false, nil // earlier phases have earlier entries
			}
		}
	}
	return false, nil
}

// skipLater skips the files that begin after the current part.
func (s *tapeScan) skipLater(series map[int]*fileSeries) error {
	if s.part.hi == math.MaxInt64 {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(series)) { // the series of the anchor, which begins the phase, is first
		l := series[n]
		var err error
		firstWithin := sort.Search(len(l.files), func(i int) bool {
			file, readErr := s.files.Read(l.files[i], nil)
			err = errors.Join(err, readErr)
			return file.FirstID() <= s.part.hi
		})
		if err != nil {
			return err
		}
		if l.files = l.files[firstWithin:]; n < 0 && len(l.files) == 0 {
			clear(series)
			return nil
		}
	}
	return nil
}

// searchPhase searches series of files in rounds that get larger, and reports whether there are enough
// hits. Only hits that are newer than all entries of unsearched files count.
func (s *tapeScan) searchPhase(ctx context.Context, series map[int]*fileSeries, all bool) (bool, error) {
	const most = 256 // files of a series in one round
	for n := 1; ; n = min(4*n, most) {
		var round []int
		seriesOf := map[int]*fileSeries{}
		for _, l := range series {
			take := min(n, l.left(s.part.lo))
			if all {
				take = len(l.files)
			}
			for _, i := range l.files[:take] {
				seriesOf[i] = l
			}
			round = append(round, l.files[:take]...)
			l.files = l.files[take:]
		}
		if len(round) == 0 {
			return false, nil
		}
		if err := s.searchFiles(ctx, round, seriesOf); err != nil {
			return false, err
		}
		unsearched := int64(0) // files that are not searched yet have only entries before this id
		for _, l := range series {
			if l.left(s.part.lo) > 0 {
				unsearched = max(unsearched, l.first)
			}
		}
		if !s.every && s.hits(unsearched) >= s.limit() {
			return true, nil
		}
	}
}

// hits returns how many hits have an id of at least from.
func (s *tapeScan) hits(from int64) int {
	groups := map[uint64]bool{}
	n := 0
	for _, m := range s.found {
		if m.id < from {
			continue
		}
		if m.sign == 0 || !groups[m.sign] {
			n++
			groups[m.sign] = true
		}
	}
	return n
}

// searchFiles searches files in parallel.
func (s *tapeScan) searchFiles(ctx context.Context, files []int, seriesOf map[int]*fileSeries) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(len(files), max(1, runtime.GOMAXPROCS(0))) {
		g.Go(func() error {
			var buf []byte
			lines := s.find.Lines(layout.ArtifactKey)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || ctx.Err() != nil {
					return ctx.Err()
				}
				file, err := s.files.Read(files[i], buf)
				if err != nil {
					return err
				}
				buf = file.Data[:0]
				var found []fileMatch
				if file.FirstID() <= s.part.hi {
					if found, err = s.searchFile(file, lines); err != nil {
						return err
					}
				}
				s.mu.Lock()
				s.found = append(s.found, found...)
				if id := file.FirstID(); id > 0 {
					seriesOf[files[i]].first = min(seriesOf[files[i]].first, id)
				}
				s.mu.Unlock()
			}
		})
	}
	return g.Wait()
}

// searchFile searches the lines of a file that may match, with the texts of their artifacts.
func (s *tapeScan) searchFile(file query.File, may *lineFinder) ([]fileMatch, error) {
	var found []fileMatch
	var body []byte
	lines, counted := 0, 0 // the number of lines before the offset counted
	may.Reset(file.Data)
	for from := may.Next(0); from < len(file.Data); from = may.Next(from) {
		start := bytes.LastIndexByte(file.Data[:from], '\n') + 1
		if i := bytes.IndexByte(file.Data[from:], '\n'); i >= 0 {
			from += i + 1
		} else {
			from = len(file.Data)
		}
		e, err := file.Entry(start)
		if err != nil {
			return nil, err
		}
		if e.ID < s.part.lo || e.ID > s.part.hi || !s.keeps(e) {
			continue
		}
		body = store.AppendAttached(text.AppendEntry(body[:0], e.Kind, e.Payload), s.files.Attach(e))
		spans, ok := s.find.Match(body)
		if !ok {
			continue
		}
		lines += bytes.Count(file.Data[counted:start], []byte("\n"))
		counted, e.At.Line = start, lines
		m := fileMatch{rank: s.rank, holder: s.part.holder, id: e.ID, at: e.At, anchor: e.Anchor, seq: e.AnchorSeq, kind: e.Kind, sign: s.sign(e.Kind, body, spans)}
		if at, ok := e.Time(); ok {
			m.created = at.UnixMicro()
		}
		found = append(found, m)
	}
	return found, nil
}

// sign returns the same number for entries that are folded into one; 0 if the entry is not folded. Entries
// whose match contains digits are folded only if they are identical.
func (s *tapeScan) sign(kind string, body []byte, spans []text.Span) uint64 {
	if s.Count || s.NoFold {
		return 0
	}
	for _, m := range spans {
		if bytes.ContainsFunc(body[m.Start:m.End], unicode.IsDigit) {
			return text.Identity(body)
		}
	}
	return relevance.FoldKey(kind, body)
}

// keeps reports whether the filters accept an entry.
func (s Search) keeps(e repo.Entry) bool {
	return s.Query.Keep(e) && (len(s.Types) == 0 || slices.Contains(s.Types, e.Kind) || slices.Contains(s.Types, relevance.NameOf(e))) && (s.Searches || !relevance.IsSearch(e))
}
