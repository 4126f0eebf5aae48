package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The rows, by which PostgreSQL finds what it is compared with.
const (
	newestPage   = "history page, the newest 50"
	randomPage   = "history page, 50 before a random one"
	pagesBeside  = "history pages, 8 connections"
	rareSearch   = "search, rare words, top 10"
	commonSearch = "search, common words, top 10"
	searchBeside = "search, common words, 8 connections"
	oneAppend    = "append with sync, one entry a request"
	manyAppend   = "append with sync, 100 entries a request"
	appendBeside = "append with sync, 8 connections"
)

const batch = 100 // entries of a request that has many

type measured struct {
	what, asked string
	run         func() (timed, error)
}

func (s *setup) measureTape(ctx context.Context) (err error) {
	ws, err := s.workspace(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	v, err := s.serve(ctx, ws)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }() // of the server that is there then
	ready := time.Since(began)
	first, err := v.start()
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "the server is ready after %.0f ms; the first run on the long tape takes %.0f ms, %d take %.1f s\n",
		ms(ready), ms(first), manyRuns, time.Since(began).Seconds())
	cursors, err := v.cursors()
	if err != nil {
		return err
	}
	for _, m := range append(s.reading(v, cursors), s.writing(v)...) {
		t, err := m.run()
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		r := s.table.row(m.what)
		r.asked, r.tape = m.asked, t
		fmt.Fprintf(s.out, "%s: %s ms, %s a second; the server's most memory so far %s\n", m.what, t.at(0.5), t.rate(), v.memory())
	}
	if err := v.stop(); err != nil {
		return err
	}
	if v, err = s.serve(ctx, ws); err != nil {
		return err
	}
	began = time.Now()
	err = v.do("GET", "/v1/state/conversation?conversation_id="+longTape, v.admin, nil, nil)
	fmt.Fprintf(s.out, "after a restart, the first request for state takes %.0f ms\n", ms(time.Since(began)))
	return err
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cursors are those of some entries everywhere in the tape: such as have rare words.
func (v *server) cursors() (out []string, err error) {
	for _, w := range rare() {
		var hits struct{ Items []struct{ Cursor string } }
		if err := v.do("GET", searchPath(w, 50), v.token(), nil, &hits); err != nil {
			return nil, err
		}
		for _, h := range hits.Items {
			out = append(out, url.QueryEscape(h.Cursor))
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if len(out) == 0 {
		err = errors.New("no rare word stands in the long tape: give it more entries")
	}
	return out, err
}

func searchPath(word string, top int) string {
	return fmt.Sprintf("/v1/history/search?top_k=%d&q=%s", top, word)
}

func (s *setup) reading(v *server, cursors []string) []measured {
	page := func(i int) error { return v.get("/v1/history?before_cursor=" + cursors[i%len(cursors)]) }
	search := func(words []string) func(i int) error {
		return func(i int) error { return v.get(searchPath(words[i%len(words)], 10)) }
	}
	one := func(f func(i int) error) func() (timed, error) {
		return func() (timed, error) { return times(s.each, f) }
	}
	eight := func(f func(i int) error) func() (timed, error) {
		return func() (timed, error) { return beside(8, s.each, f) }
	}
	web := func(path string) func(i int) error {
		return func(int) error { return v.do("GET", v.pages+path, "", nil, nil) }
	}
	return []measured{
		{newestPage, "2 / 10", one(func(int) error { return v.get("/v1/history") })},
		{randomPage, "2 / 10", one(page)},
		{pagesBeside, "", eight(page)},
		{rareSearch, "15", one(search(rare()))},
		{commonSearch, "15", one(search(common()))},
		{searchBeside, "", eight(search(common()))},
		{"GET /v1/tapes, 100 of all", "50", one(func(int) error { return v.do("GET", "/v1/tapes", v.admin, nil, nil) })},
		{"sessions in the browser, all of them", "50", one(web("/"))},
		{fmt.Sprintf("page of a session of %d entries", s.session), "1000", one(web("/t/" + sessionTape))},
		{"page of the long tape", "1000", one(web("/t/" + longTape))},
	}
}

func (s *setup) writing(v *server) []measured {
	w := newWriter()
	var bodies [][]byte // of requests with one entry, then with many
	for _, n := range []int{1, batch} {
		for range 200 {
			var list []string
			for range n {
				list = append(list, w.entry().json())
			}
			bodies = append(bodies, []byte(`{"entries":[`+strings.Join(list, ",")+`]}`))
		}
	}
	send := func(from int) func(i int) error {
		return func(i int) error {
			return v.do("POST", "/v1/tapes/"+longTape+"/entries", v.token(), bodies[from+i%200], nil)
		}
	}
	return []measured{
		{oneAppend, "3000/s", func() (timed, error) { return times(s.each, send(0)) }},
		{appendBeside, "", func() (timed, error) { return beside(8, s.each, send(0)) }},
		{manyAppend, "3000/s", func() (timed, error) {
			t, err := times(s.each, send(200))
			t.units = batch
			return t, err
		}},
		{"search after 100 new entries", "", func() (timed, error) { return s.searchFresh(send(200), v) }},
	}
}

// searchFresh times searches that have to look at what has just been appended.
func (s *setup) searchFresh(send func(i int) error, v *server) (t timed, err error) {
	words := rare()
	if err := v.get(searchPath(words[0], 10)); err != nil { // takes up all that was appended before
		return t, err
	}
	for i := 0; t.within < s.each; i++ {
		if err := send(i); err != nil {
			return t, err
		}
		began := time.Now()
		if err := v.get(searchPath(words[i%len(words)], 10)); err != nil {
			return t, err
		}
		t.took = append(t.took, time.Since(began))
		t.within += time.Since(began)
	}
	slices.Sort(t.took)
	return t, nil
}
