su x

	list y
  tab	z
