package store

import "database/sql"

// pages gives package fts5 the pages of the table of words.
type pages struct{ db *DB }

func (p pages) Block(id int64) ([]byte, error) {
	var block []byte
	_, err := p.db.row("SELECT block FROM entries_fts_data WHERE id = ?", []any{id}, &block)
	return block, err
}

func (p pages) Blocks(first, last int64, f func(id int64, block []byte) error) error {
	var id int64
	var block sql.RawBytes
	return p.db.rows("SELECT id, block FROM entries_fts_data WHERE id BETWEEN ? AND ? ORDER BY id", []any{first, last}, []any{&id, &block},
		func() error { return f(id, block) })
}

func (p pages) PutBlock(id int64, block []byte) error {
	return p.db.exec("REPLACE INTO entries_fts_data (id, block) VALUES (?, ?)", id, block)
}

func (p pages) DeleteBlocks(first, last int64) error {
	return p.db.exec("DELETE FROM entries_fts_data WHERE id BETWEEN ? AND ?", first, last)
}

func (p pages) PageOf(segid int64, term []byte) (int64, error) {
	var pgno int64
	_, err := p.db.row("SELECT pgno FROM entries_fts_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1", []any{segid, term}, &pgno)
	return pgno, err
}

func (p pages) PageAfter(segid int64, term []byte) (int64, error) {
	var pgno int64
	_, err := p.db.row("SELECT pgno FROM entries_fts_idx WHERE segid = ? AND term > ? ORDER BY term LIMIT 1", []any{segid, term}, &pgno)
	return pgno, err
}

func (p pages) PutPage(segid int64, term []byte, pgno int64) error {
	return p.db.exec("INSERT INTO entries_fts_idx (segid, term, pgno) VALUES (?, ?, ?)", segid, term, pgno)
}

func (p pages) DeletePages(segid int64) error {
	return p.db.exec("DELETE FROM entries_fts_idx WHERE segid = ?", segid)
}
