// Package rewrite makes a history anew without some texts. What comes of it follows from the
// history and the record of the purge alone, so that anybody who has both can make it again.
package rewrite
