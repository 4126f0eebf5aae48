package host

import (
	"cmp"
	"context"
	"net/url"
	"path/filepath"
	"slices"
	"sync"

	"tape/internal/git/disk"
	"tape/repo"
)

// tapeQueues are the queues of all tapes. A queue can be made again from its tape, so idle queues are dropped
// when all together take too much memory.
type tapeQueues struct {
	Dir  string // for checkpoints; "": none are written
	Disk *disk.FS

	mu       sync.Mutex
	byBranch map[string]*tapeQueue
	calls    int64 // so far
	total    int64 // memory of all queues in bytes, estimated
}

// maxMemory is the memory of all queues, in bytes, above which idle ones are dropped.
const maxMemory = 64 << 20

// enter returns the queue of a tape. It is not dropped before leave is called.
func (s *tapeQueues) enter(t *repo.Tape) *tapeQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byBranch[t.Branch()]
	if l == nil {
		l = &tapeQueue{file: checkpoint{disk: s.Disk}}
		if s.Dir != "" {
			l.file.path = filepath.Join(s.Dir, url.PathEscape(t.Branch())+".json")
		}
		if s.byBranch == nil {
			s.byBranch = map[string]*tapeQueue{}
		}
		s.byBranch[t.Branch()] = l
	}
	s.calls++
	l.users, l.lastUse = l.users+1, s.calls
	return l
}

// leave ends the use of a queue that enter returned.
func (s *tapeQueues) leave(l *tapeQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.users--
	now := l.memory.Load()
	s.total += now - l.counted
	l.counted = now
	if s.total > maxMemory {
		s.dropIdle()
	}
}

// dropIdle drops idle queues, the least recently called first, until a quarter of maxMemory is free. s.mu is held.
func (s *tapeQueues) dropIdle() {
	var idle []string
	for branch, l := range s.byBranch {
		if l.users == 0 {
			idle = append(idle, branch)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return cmp.Compare(s.byBranch[a].lastUse, s.byBranch[b].lastUse) })
	for _, branch := range idle {
		if s.total <= maxMemory/4*3 {
			return
		}
		s.total -= s.byBranch[branch].counted
		delete(s.byBranch, branch)
	}
}

// unlock estimates the memory of the queue, and releases it.
func (l *tapeQueue) unlock() {
	const queue, key, value, fact = 1 << 10, 200, 400, 1_500 // bytes of each
	l.memory.Store(queue + key*int64(len(l.order)) + value*int64(l.state.count) + fact*int64(l.facts.count()))
	l.follow.Unlock()
}

// Hold brings a tape's queue up to date, and calls fn while nothing is written through the queue.
func (s *tapeQueues) Hold(ctx context.Context, t *repo.Tape, fn func(l *tapeQueue) error) error {
	l := s.enter(t)
	defer s.leave(l)
	l.follow.Lock()
	defer l.unlock()
	if err := l.catchUp(ctx, t); err != nil {
		return err
	}
	return fn(l)
}
