package load

import "syscall"

const directFlag = syscall.O_DIRECT
