package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// timed are the times of one thing that was done again and again.
type timed struct {
	took   []time.Duration
	within time.Duration // all of them
	units  int           // what one of them is worth; 0 is 1
}

func (t timed) at(share float64) string {
	if len(t.took) == 0 {
		return "–"
	}
	d := t.took[min(len(t.took)-1, int(share*float64(len(t.took))))]
	return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000)
}

func (t timed) rate() string {
	if len(t.took) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", float64(len(t.took)*max(1, t.units))/t.within.Seconds())
}

// row is a line of the table; other is what PostgreSQL does.
type row struct {
	what, asked string
	tape, other timed
}

type table struct{ rows []*row }

// row is the one of a name, made where there is none yet.
func (t *table) row(what string) *row {
	for _, r := range t.rows {
		if r.what == what {
			return r
		}
	}
	r := &row{what: what}
	t.rows = append(t.rows, r)
	return r
}

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ms\tasked\ttape p50\tp99\ta second\tPostgreSQL p50\tp99\ta second\tratio of p50")
	for _, r := range t.rows {
		ratio := "–"
		if len(r.tape.took) > 0 && len(r.other.took) > 0 {
			a, b := r.tape.took[len(r.tape.took)/2], r.other.took[len(r.other.took)/2]
			ratio = fmt.Sprintf("%.2f", float64(b)/float64(a))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.what, cmp.Or(r.asked, "–"), r.tape.at(0.5), r.tape.at(0.99), r.tape.rate(),
			r.other.at(0.5), r.other.at(0.99), r.other.rate(), ratio)
	}
	_ = w.Flush()
	fmt.Fprintln(out, "ratio: how many times as long PostgreSQL takes")
}

// times calls f for so long, and at least 20 times.
func times(long time.Duration, f func(i int) error) (timed, error) {
	var t timed
	began := time.Now()
	for i := 0; i < 20 || time.Since(began) < long; i++ {
		at := time.Now()
		if err := f(i); err != nil {
			return t, err
		}
		t.took = append(t.took, time.Since(at))
	}
	t.within = time.Since(began)
	slices.Sort(t.took)
	return t, nil
}

// beside calls f from n goroutines at once.
func beside(n int, long time.Duration, f func(i int) error) (timed, error) {
	type result struct {
		timed
		err error
	}
	results := make(chan result)
	began := time.Now()
	for k := range n {
		go func() {
			t, err := times(long, func(i int) error { return f(i*n + k) })
			results <- result{t, err}
		}()
	}
	var all timed
	var failed error
	for range n {
		r := <-results
		all.took = append(all.took, r.took...)
		failed = cmp.Or(failed, r.err)
	}
	all.within = time.Since(began)
	slices.Sort(all.took)
	return all, failed
}
