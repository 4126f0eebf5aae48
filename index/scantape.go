package index

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"

	"golang.org/x/sync/errgroup"

	"tape/internal/text"
	"tape/repo"
)

// tapeScan looks through the files of one tape, several at a time, the newest first, and
// ends when there are as many hits as are wanted.
type tapeScan struct {
	Search
	tape  int // index into Tapes
	find  *text.Scan
	files *repo.Files
	whole bool // nothing was left out

	mu    sync.Mutex
	found []scanned
}

// lane is a sequence of files in which ids grow.
type lane struct {
	files []int // not looked through yet
	first int64 // id with which those begin that were
}

func (s *tapeScan) run(ctx context.Context) ([]scanned, error) {
	var err error
	if s.files, err = s.Tapes[s.tape].Files(ctx, s.Query); err != nil {
		return nil, err
	}
	all := s.limit() == math.MaxInt || s.Count
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
		done, err := s.phase(ctx, lanes, all)
		if err != nil || done {
			return s.found, err
		}
	}
	s.whole = true
	return s.found, nil
}

// phase looks through lanes in rounds, each of more files than the last, and reports
// whether there are enough hits. What was found counts once no file that is left can have
// anything newer.
func (s *tapeScan) phase(ctx context.Context, lanes map[int]*lane, all bool) (bool, error) {
	const most = 256 // files of a lane in a round
	for n := 1; ; n = min(4*n, most) {
		var round []int
		of := map[int]*lane{}
		for _, l := range lanes {
			take := min(n, len(l.files))
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
			if len(l.files) > 0 {
				settled = max(settled, l.first)
			}
		}
		if !all && s.hits(settled) >= s.limit() {
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
				found, err := s.file(file)
				if err != nil {
					return err
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

func (s *tapeScan) file(file repo.File) ([]scanned, error) {
	var found []scanned
	var body []byte
	lines, counted := 0, 0 // up to where the lines are counted
	for from := 0; from < len(file.Data); {
		i := s.find.Candidate(file.Data[from:])
		if i < 0 {
			break
		}
		start := bytes.LastIndexByte(file.Data[:from+i], '\n') + 1
		end := bytes.IndexByte(file.Data[from+i:], '\n')
		if end < 0 {
			end = len(file.Data) - from - i
		}
		from += i + end + 1
		e, err := file.Entry(start)
		if err != nil {
			return nil, err
		}
		if !s.keeps(e) {
			continue
		}
		body = text.AppendEntry(body[:0], e.Kind, e.Payload)
		match, ok := s.find.Match(body)
		if !ok {
			continue
		}
		lines += bytes.Count(file.Data[counted:start], []byte("\n"))
		counted, e.At.Line = start, lines
		m := scanned{tape: s.tape, id: e.ID, at: e.At, anchor: e.Anchor, seq: e.AnchorSeq, kind: e.Kind, sign: s.sign(e.Kind, body, match.Spans)}
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
	return signOf(kind, body)
}

// keeps applies the filters to an entry itself.
func (s Search) keeps(e repo.Entry) bool {
	if !s.Query.Keeps(e) || !s.Searches && isSearch(e) {
		return false
	}
	return len(s.Roles) == 0 || hasRole(e) && slices.Contains(s.Roles, roleOf(e))
}
