ex.save("why.png")
