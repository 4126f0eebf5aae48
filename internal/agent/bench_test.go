package agent

//tape:race: tools and subagents run side by side

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo"
)

// BenchmarkTurn is a turn with one answer, on a tape with a given number of entries.
func BenchmarkTurn(b *testing.B) {
	for _, size := range []int{0, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := newStore(b)
			h := newHost(b, s, func(int, models.Request) hooks.Stream { return says("yes") }, nil)
			h.mustTurn("", "hello")
			t, err := s.Tape(b.Context(), "s")
			if err != nil {
				b.Fatal(err)
			}
			var list []repo.Draft
			for range size {
				list = append(list, repo.Message("assistant", strings.Repeat("word ", 80)))
			}
			if _, err := t.Append(b.Context(), nil, list...); err != nil {
				b.Fatal(err)
			}
			if _, err := t.Handoff(b.Context(), repo.Anchor{Name: "next"}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				h.mustTurn("", "hello")
			}
		})
	}
}

// BenchmarkNoModel is a turn that no model answers.
func BenchmarkNoModel(b *testing.B) {
	h := newHost(b, newStore(b), nil, nil)
	for b.Loop() {
		h.mustTurn("", "hello")
	}
}

// BenchmarkSessions is a turn in each of 50 parallel sessions.
func BenchmarkSessions(b *testing.B) {
	h := newHost(b, newStore(b), func(int, models.Request) hooks.Stream { return says("yes") }, nil)
	for b.Loop() {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				if _, err := h.rt.Process(b.Context(), hooks.Envelope{hooks.KeySession: fmt.Sprint("s", i), hooks.KeyContent: "hello"}, hooks.Options{}); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
}
