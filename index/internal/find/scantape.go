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
	"tape/internal/text"
	"tape/internal/text/scan"
	"tape/repo"
)

// tapeScan looks through the files of one tape, several at a time, the newest first, and
// ends when there are as many hits as are wanted. What a fork has of its parent it looks
// for in the parent's files, which are more often in a working tree.
type tapeScan struct {
	Search
	rank  int // of the tape
	find  *scan.Scanner
	part  part // that is looked through
	files *query.Files
	every bool // match is wanted
	whole bool // nothing was left out

	mu    sync.Mutex
	found []scanned
}

// lane is a sequence of files in which ids grow.
type lane struct {
	files []int // not looked through yet
	first int64 // id with which those begin that were
}

// left is how many files a lane has that may have entries from an id on.
func (l *lane) left(from int64) int {
	if l.first <= from {
		return 0
	}
	return len(l.files)
}

// run looks through parts of the tape; nil means its files, all that the query selects.
func (s *tapeScan) run(ctx context.Context, t *repo.Tape, where parts) ([]scanned, error) {
	s.Query = s.Query.Of((*workspace.Tape)(t))
	q := s.Query
	if where == nil {
		where = parts{{of: t, lo: 1, hi: math.MaxInt64}}
	} else {
		q = repo.Query{Kinds: q.Kinds} // the anchors, in ids
	}
	s.every = s.limit() == math.MaxInt || s.Count
	for _, s.part = range where {
		var err error
		if s.files, err = query.FilesOf(ctx, (*workspace.Tape)(s.part.of), q); err != nil {
			return nil, err
		}
		if done, err := s.through(ctx); err != nil || done {
			return s.found, err
		}
	}
	s.whole = true
	return s.found, nil
}

// through looks through the files in hand, and reports whether there are enough hits.
func (s *tapeScan) through(ctx context.Context) (bool, error) {
	all := s.every && s.part.lo == 1 && s.part.hi == math.MaxInt64
	// From the last phase to the first, and in each from the last files on.
	for last := s.files.Len() - 1; last >= 0; {
		phase, _ := s.files.Lane(last)
		lanes := map[int]*lane{}
		for ; last >= 0; last-- {
			p, n := s.files.Lane(last)
			if p != phase && !all {
				break
			}
			if lanes[n] == nil {
				lanes[n] = &lane{first: math.MaxInt64}
			}
			lanes[n].files = append(lanes[n].files, last)
		}
		if err := s.skipLater(lanes); err != nil {
			return false, err
		}
		done, err := s.phase(ctx, lanes, all)
		if err != nil || done {
			return done, err
		}
		for _, l := range lanes {
			if l.first <= s.part.lo {
				return false, nil // earlier phases have earlier entries
			}
		}
	}
	return false, nil
}

// skipLater passes over the files that begin behind the part that is looked through.
func (s *tapeScan) skipLater(lanes map[int]*lane) error {
	if s.part.hi == math.MaxInt64 {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(lanes)) { // the anchor, which begins the phase, is first
		l := lanes[n]
		var err error
		within := sort.Search(len(l.files), func(i int) bool {
			file, readErr := s.files.Read(l.files[i], nil)
			err = errors.Join(err, readErr)
			return file.FirstID() <= s.part.hi
		})
		if err != nil {
			return err
		}
		if l.files = l.files[within:]; n < 0 && len(l.files) == 0 {
			clear(lanes)
			return nil
		}
	}
	return nil
}

// phase looks through lanes in rounds of more and more files, and reports whether there
// are enough hits. They count once no file that is left can have anything newer.
func (s *tapeScan) phase(ctx context.Context, lanes map[int]*lane, all bool) (bool, error) {
	const most = 256 // files of a lane in a round
	for n := 1; ; n = min(4*n, most) {
		var round []int
		of := map[int]*lane{}
		for _, l := range lanes {
			take := min(n, l.left(s.part.lo))
			if all {
				take = len(l.files)
			}
			for _, i := range l.files[:take] {
				of[i] = l
			}
			round = append(round, l.files[:take]...)
			l.files = l.files[take:]
		}
		if len(round) == 0 {
			return false, nil
		}
		if err := s.look(ctx, round, of); err != nil {
			return false, err
		}
		settled := int64(0)
		for _, l := range lanes {
			if l.left(s.part.lo) > 0 {
				settled = max(settled, l.first)
			}
		}
		if !s.every && s.hits(settled) >= s.limit() {
			return true, nil
		}
	}
}

// hits is how many there are from an id on, or in later phases.
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

// look looks through files.
func (s *tapeScan) look(ctx context.Context, files []int, of map[int]*lane) error {
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
				var found []scanned
				if file.FirstID() <= s.part.hi {
					if found, err = s.file(file, lines); err != nil {
						return err
					}
				}
				s.mu.Lock()
				s.found = append(s.found, found...)
				if id := file.FirstID(); id > 0 {
					of[files[i]].first = min(of[files[i]].first, id)
				}
				s.mu.Unlock()
			}
		})
	}
	return g.Wait()
}

// file looks through a file. What an artifact says is not in the line that refers to it.
func (s *tapeScan) file(file query.File, may *scan.Lines) ([]scanned, error) {
	var found []scanned
	var body []byte
	lines, counted := 0, 0 // up to where the lines are counted
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
		m := scanned{rank: s.rank, of: s.part.of, id: e.ID, at: e.At, anchor: e.Anchor, seq: e.AnchorSeq, kind: e.Kind, sign: s.sign(e.Kind, body, spans)}
		if at, ok := e.Time(); ok {
			m.created = at.UnixMicro()
		}
		found = append(found, m)
	}
	return found, nil
}

// sign is what an entry has in common with those that are folded into one; 0: nothing.
// What was looked for may not be what they differ in.
func (s *tapeScan) sign(kind string, body []byte, spans []text.Span) uint64 {
	if s.Count || s.NoFold {
		return 0
	}
	for _, m := range spans {
		if bytes.ContainsFunc(body[m.Start:m.End], unicode.IsDigit) {
			return text.Identity(body)
		}
	}
	return store.SignOf(kind, body)
}

// keeps applies the filters to an entry itself.
func (s Search) keeps(e repo.Entry) bool {
	return s.Query.Keep(e) && (len(s.Types) == 0 || slices.Contains(s.Types, e.Kind) || slices.Contains(s.Types, store.NameOf(e))) && (s.Searches || !store.IsSearch(e))
}
