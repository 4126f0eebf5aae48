package web

import "tape/repo"

// historyGraph is a history with a row for each commit. Every tape has a lane, which is a column, from its newest commit, or
// the commit that merged it, down to its beginning. Other tapes may have the lane above and below that.
type historyGraph struct {
	Rows  []commitView
	Lanes []laneName
	Width int // pixels
}

type laneName struct {
	Name string
	Lane int
}

type commitView struct {
	repo.Commit
	Lane, X int
	Lines   []graphLine
	Joins   []string // the tapes that it merges, or that begin here, in words for those who do not see the lines
	Merge   bool
}

// graphLine is a line within a row; Y is in percent of its height.
type graphLine struct{ Lane, X1, Y1, X2, Y2 int }

const (
	maxLanes  = 15
	laneWidth = 18
)

func laneX(lane int) int { return laneWidth*lane + laneWidth/2 }

// graphOf lays out commits, the newest first. The tape's own lane is the first.
func graphOf(list []repo.Commit, own string) historyGraph {
	row := make(map[string]int, len(list))
	for i, c := range list {
		row[c.ID] = i
	}
	lanes := lanesOf(list, row, own)
	g := historyGraph{Rows: make([]commitView, len(list))}
	most, named := 0, map[string]bool{}
	for i, c := range list {
		lane := lanes[c.Tape]
		g.Rows[i].Commit, g.Rows[i].Lane, g.Rows[i].X, g.Rows[i].Merge = c, lane, laneX(lane), len(c.Parents) > 1
		if most = max(most, lane); !named[c.Tape] {
			named[c.Tape] = true
			g.Lanes = append(g.Lanes, laneName{c.Tape, lane})
		}
	}
	g.Width = laneWidth * (most + 1)
	for i, c := range list {
		for n, id := range c.Parents {
			g.connect(i, id, row, n > 0)
		}
	}
	return g
}

// connect draws the line from a commit to one of its parents, in the outer of their lanes.
func (g *historyGraph) connect(from int, parent string, row map[string]int, merged bool) {
	child := &g.Rows[from]
	to, shown := row[parent]
	lane := child.Lane
	if !shown { // it is older than all commits shown
		to = len(g.Rows)
	} else if p := &g.Rows[to]; p.Tape != child.Tape {
		lane = max(lane, p.Lane)
		if merged {
			child.Joins = append(child.Joins, "merges "+p.Tape)
		} else {
			p.Joins = append(p.Joins, child.Tape+" begins here")
		}
	}
	x := laneX(lane)
	child.Lines = append(child.Lines, graphLine{lane, child.X, 50, x, 100})
	for i := from + 1; i < to; i++ {
		g.Rows[i].Lines = append(g.Rows[i].Lines, graphLine{lane, x, 0, x, 100})
	}
	if shown {
		g.Rows[to].Lines = append(g.Rows[to].Lines, graphLine{lane, x, 0, g.Rows[to].X, 50})
	}
}

// lanesOf gives each tape the first lane that is free for all of its rows. If none is, tapes share the last lane.
func lanesOf(list []repo.Commit, row map[string]int, own string) map[string]int {
	begin, end := map[string]int{}, map[string]int{}
	var tapes []string // in the order of their first rows
	reach := func(tape string, i int) {
		if _, known := begin[tape]; !known {
			begin[tape], tapes = i, append(tapes, tape)
		}
		end[tape] = max(end[tape], i)
	}
	for i, c := range list {
		reach(c.Tape, i)
		for _, id := range c.Parents {
			to, shown := row[id]
			if shown {
				reach(list[to].Tape, i)
			} else {
				to = len(list)
			}
			reach(c.Tape, to)
		}
	}
	lanes, free := map[string]int{own: 0}, [maxLanes + 1]int{} // free: from which row on
	for _, tape := range tapes {
		if tape == own {
			continue
		}
		lane := 1
		for lane < maxLanes && free[lane] > begin[tape] {
			lane++
		}
		lanes[tape], free[lane] = lane, end[tape]+1
	}
	return lanes
}
