module m
 contains
 recursive integer function rec(n) result(r)
  integer, intent(in) :: n
  integer, volatile :: t
  if (n > 0) then
   t = rec(n - 1); r = t + 1
  else
   call here(n); r = 0
  end if
 end function
 subroutine here(n) bind(c)
  use iso_c_binding
  integer(c_int), intent(in) :: n
  integer, volatile :: x
  x = n
 end subroutine
end module
program p
 use m
 integer :: i, s
 character(20) :: arg
 call get_command_argument(1, arg)
 read(arg, *) s
 do i = 1, s
  print *, rec(mod(i, 20))
 end do
end program
