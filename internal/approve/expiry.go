package approve

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// longestValidity is the longest time for which an approval may be valid.
const longestValidity = 90 * 24 * time.Hour

// ParseExpiry reads until when an approval is valid: a duration such as 8h or 3d, or a time in
// RFC 3339.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, bad := time.ParseDuration(text)
		if days, ok := strings.CutSuffix(text, "d"); ok {
			n, wrong := strconv.Atoi(days)
			d, bad = time.Duration(n)*24*time.Hour, wrong
		}
		if bad != nil {
			return until, fmt.Errorf("%q is neither 8h, 3d nor a time in RFC 3339", text)
		}
		until = now.Add(d)
	}
	if !until.After(now) || until.After(now.Add(longestValidity)) {
		return until, fmt.Errorf("%s is not within the next 90 days", until.Format(time.RFC3339))
	}
	return until.UTC().Truncate(time.Second), nil
}
