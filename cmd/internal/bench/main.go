// Command bench is for the scripts in this folder. It times pairs of whole processes, and writes the
// entries, transcripts and tapes that they work on.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

const usage = `usage:
  bench pair [flags] NAME COMMAND... ::: COMMAND...   time two sides in turn; ;; separates the commands of a side
  bench entries N                                     N entries for tape append --stdin
  bench transcripts N BYTES DIR                       N Claude Code sessions in a folder
  bench tapes N                                       N tapes of ten phases for git fast-import
  bench rows N                                        N rows for PostgreSQL's COPY
  bench seed N                                        N rows of entries with their texts, for sqlite3's .import
  bench words                                         words of the entries, as shell variables`

func main() {
	if err := bench(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	if args[0] == "pair" {
		return pair(args[1:], out)
	}
	var numbers []int
	for _, arg := range args[1:min(len(args), 3)] {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, usage)
		}
		numbers = append(numbers, n)
	}
	w := bufio.NewWriterSize(out, 1<<20)
	t := newText()
	switch name := fmt.Sprint(args[0], " ", len(args)-1); name {
	case "words 0":
		writeWords(w)
	case "entries 1":
		for range numbers[0] {
			fmt.Fprintln(w, t.entry().json())
		}
	case "rows 1":
		for i := range numbers[0] {
			e := t.entry()
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i+1, e.kind, e.payload, e.text)
		}
	case "seed 1":
		for i := range numbers[0] {
			e := t.entry()
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", i+1, e.kind, e.date, e.text)
		}
	case "tapes 1":
		for i := range numbers[0] {
			writeTape(w, fmt.Sprintf("t%d", i+1))
		}
	case "transcripts 3":
		return t.transcripts(numbers[0], numbers[1], args[3])
	default:
		return errors.New(usage)
	}
	return w.Flush()
}
